"""A sample of what a model does after training: it writes on, fills gaps, or answers."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

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
SHORT = 48  # while it learns: inside a usual context, which costs little
PROMPT = 16
LINES = 5
FIRST_WORD = "The "
GAP, NEW_LINE = "_", "⏎"
CUT = "\ufffd"  # what decoding makes of half a character


def write(model: Model, task: Task, config: TrainConfig, *, tokens: int | None = None) -> str:
    """The sample as text, from what was held out; the same for the same model.

    `tokens` is how many a writer writes: TOKENS unless given.
    """
    writer = TextModel(model, task.tokenizer)
    if isinstance(task, PairsTask):
        return "\n".join(_answers(writer, task))
    batches = task.validation(config)
    if isinstance(model, Encoder):
        return "\n".join(islice(_gaps(model, task.tokenizer, batches), LINES))
    prompt = task.tokenizer.decode(batches[0].inputs["tokens"][0, :PROMPT]).strip(CUT)
    said = writer.generate(prompt, max_tokens=tokens or TOKENS, temperature=0.8, seed=config.seed)
    return f"{prompt}{said}\n"


def prompt(task: Task) -> str:
    """Something to type behind `handformer generate --prompt`: in a line, and in the vocabulary."""
    tokenizer = task.tokenizer
    if isinstance(task, PairsTask):
        return tokenizer.decode(task.held_out[0].source)
    assert isinstance(task, LanguageTask)
    text = tokenizer.decode(task.held_out[:1000])
    line = _line(text) or text[:1]
    if isinstance(task, MaskedTask):
        return next(filter(None, (_with_gap(line[:n], task) for n in range(PROMPT, 0, -1))))
    try:
        tokenizer.encode(FIRST_WORD)
    except InputError:
        return line[:PROMPT]
    return FIRST_WORD


def _with_gap(text: str, task: MaskedTask) -> str | None:
    """The text with a gap for the character in its middle, if it fits into the context."""
    middle = len(text) // 2
    before, after = text[:middle], text[middle + 1 :]
    tokens = sum(len(task.tokenizer.encode(part)) for part in (before, after))
    return f"{before}{MASK}{after}" if tokens < task.context else None


def _answers(writer: TextModel, task: PairsTask) -> Iterator[str]:
    for example in task.held_out[:LINES]:
        source, target = (task.tokenizer.decode(ids) for ids in (example.source, example.target))
        yield f"source    {source}\nexpected  {target}\nwritten   {writer.translate(source)}\n"


def _gaps(model: Encoder, tokenizer: Tokenizer, batches: Sequence[Batch]) -> Iterator[str]:
    mask = tokenizer.id(MASK)
    rows = (zip(batch.inputs["tokens"], batch.targets, strict=True) for batch in batches)
    for read, targets in chain.from_iterable(rows):
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
