"""A sample of what a model does after training: it writes on, fills gaps, or answers."""

from collections.abc import Iterator

import numpy as np

from handformer.axes import IntArray
from handformer.errors import InputError
from handformer.generate import fill
from handformer.generate.text import TextModel
from handformer.models import Encoder, Model
from handformer.ops.cross_entropy import IGNORED
from handformer.text import Tokenizer
from handformer.train.config import TrainConfig
from handformer.train.step import Batch
from handformer.train.tasks import MASK, LanguageTask, MaskedTask, PairsTask, Task

TOKENS = 400
PROMPT = 16
LINES = 5
FIRST_WORD = "The "
GAP, NEW_LINE = "_", "⏎"
CUT = "\ufffd"  # what decoding makes of half a character


def write(model: Model, task: Task, config: TrainConfig) -> str:
    """The sample as text, from what was held out; the same for the same model."""
    writer = TextModel(model, task.tokenizer)
    if isinstance(task, PairsTask):
        return "\n".join(_answers(writer, task))
    batch = task.validation(config)[0]
    if isinstance(model, Encoder):
        return "\n".join(_gaps(model, task.tokenizer, batch))
    prompt = task.tokenizer.decode(batch.inputs["tokens"][0, :PROMPT]).strip(CUT)
    said = writer.generate(prompt, max_tokens=TOKENS, temperature=0.8, seed=config.seed)
    return f"{prompt}{said}\n"


def prompt(task: Task) -> str:
    """Something to type behind `handformer generate --prompt`: in a line, and in the vocabulary."""
    tokenizer = task.tokenizer
    if isinstance(task, PairsTask):
        return tokenizer.decode(task.held_out[0].source)
    assert isinstance(task, LanguageTask)
    line = _line(tokenizer.decode(task.held_out[:1000]))
    if isinstance(task, MaskedTask):
        ids = tokenizer.encode(line)[: min(PROMPT, task.context)]
        middle = len(ids) // 2
        return f"{tokenizer.decode(ids[:middle])}{MASK}{tokenizer.decode(ids[middle + 1 :])}"
    try:
        tokenizer.encode(FIRST_WORD)
    except InputError:
        return line[:PROMPT]
    return FIRST_WORD


def _answers(writer: TextModel, task: PairsTask) -> Iterator[str]:
    for example in task.held_out[:LINES]:
        source, target = (task.tokenizer.decode(ids) for ids in (example.source, example.target))
        yield f"source    {source}\nexpected  {target}\nwritten   {writer.translate(source)}\n"


def _gaps(model: Encoder, tokenizer: Tokenizer, batch: Batch) -> Iterator[str]:
    mask = tokenizer.id(MASK)
    for read, targets in zip(batch.inputs["tokens"][:LINES], batch.targets, strict=False):
        # Some of what was chosen still stands there, or something else does: here all is hidden.
        chosen = targets != IGNORED
        tokens = np.where(chosen, mask, read)
        filled = fill(model, tokens.tolist(), mask_token=mask, vocab_size=tokenizer.vocab_size)
        pieces = np.split(tokens, chosen.nonzero()[0])  # decoding leaves the mask token out
        gaps = GAP.join(_shown(tokenizer, piece) for piece in pieces)
        expected = _shown(tokenizer, np.where(chosen, targets, read))
        yield (
            f"given     {gaps}\nexpected  {expected}\n"
            f"filled    {_shown(tokenizer, filled.tokens)}\n"
        )


def _shown(tokenizer: Tokenizer, ids: IntArray) -> str:
    return tokenizer.decode(ids).replace("\n", NEW_LINE)


def _line(text: str) -> str:
    """The first long line of a text, or the longest, of what can be seen of it."""
    lines = [
        "".join(c for c in line if c.isprintable() and c != CUT).strip()
        for line in text.splitlines()
    ]
    return next((line for line in lines if len(line) >= PROMPT), max(lines, key=len))
