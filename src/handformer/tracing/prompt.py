"""What goes through a model in a trace: its inputs, the targets, and how the tokens are spelled.

Of a text, each token's target is the one after it, and the last has none. An encoder's targets are
given, or its own tokens wherever none is masked; an encoder-decoder's are given, or what it would
write itself.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from handformer.axes import IntArray, record
from handformer.errors import InputError
from handformer.generate.text import BEGIN, END, MASK, TextModel
from handformer.models import Encoder, EncoderDecoder, Model
from handformer.ops.cross_entropy import IGNORED
from handformer.text import Tokenizer
from handformer.tracing.manifest import Text

Ids = Sequence[int] | IntArray


@record
class Prompt:
    """The arguments of a model's forward by name, and targets (b, t), -100 where there is none.

    `text` and `vocabulary` are None where no tokenizer is at hand.
    """

    inputs: dict[str, Any]
    targets: IntArray
    text: Text | None = None
    vocabulary: tuple[str, ...] | None = None


def of_text(
    writer: TextModel, texts: Sequence[str], targets: Sequence[str] | None = None
) -> Prompt:
    """The prompt of one text or several, of an encoder-decoder's sources.

    Raises
    ------
    InputError
        where a text can't be encoded or has no tokens, or its targets don't fit
    """
    model, tokenizer = writer.model, writer.tokenizer
    if targets is not None and len(targets) != len(texts):
        raise InputError(f"{len(targets)} targets for {len(texts)} texts: give one for each")
    if isinstance(model, EncoderDecoder):
        most = model.config.context - 1  # the begin token stands before them
        own = (writer.translate(text, max_tokens=most) for text in texts)
        written = list(own) if targets is None else targets
        begin, end = (_special(tokenizer, names) for names in (BEGIN, END))
        ids = [tokenizer.encode(text) for text in written]
        prompt = of_tokens(
            model,
            [[begin, *row] for row in ids],
            source=[tokenizer.encode(text) for text in texts],
            targets=[[*row, end] for row in ids],
        )
    else:
        rows = [_encoded(tokenizer, text, model) for text in texts]
        aims: list[list[int]] | None = None
        if targets is not None:
            aims = [_encoded(tokenizer, text, model) for text in targets]
        elif isinstance(model, Encoder):
            masks = {tokenizer.special[name] for name in MASK if name in tokenizer.special}
            aims = [[IGNORED if id in masks else id for id in row] for row in rows]
        prompt = of_tokens(model, rows, targets=aims)
    return spelled(prompt, tokenizer)


def of_tokens(
    model: Model,
    rows: Sequence[Ids],
    *,
    source: Sequence[Ids] | None = None,
    targets: Sequence[Ids] | None = None,
) -> Prompt:
    """The prompt of rows of token ids, padded on the right where they are of unequal length.

    Raises
    ------
    InputError
        for no tokens, more than the model's context, ids outside its vocabulary, or targets of
        another length
    """
    config = model.config
    tokens, valid = _padded("tokens", rows, 0, config.context, config.vocab_size)
    if targets is None:
        targets = [[*row[1:], IGNORED] for row in rows]
    if [len(row) for row in rows] != [len(row) for row in targets]:
        raise InputError(
            f"{len(rows[0])} tokens with {len(targets[0])} targets: each token has one, or "
            f"{IGNORED} for none"
        )
    aims, _ = _padded("targets", targets, IGNORED, config.context, config.vocab_size)
    inputs: dict[str, Any] = {"tokens": tokens, "valid": valid}
    if isinstance(model, EncoderDecoder):
        if source is None:
            raise InputError("an encoder-decoder reads a source: give one")
        size = config.source_vocab_size or config.vocab_size
        read, read_valid = _padded("source", source, 0, config.context, size)
        if len(read) != len(tokens):
            raise InputError(f"{len(read)} sources for {len(tokens)} rows of tokens: give as many")
        inputs = {"source": read, "source_valid": read_valid, **inputs}
    elif source is not None:
        raise InputError(f"a {type(model).__name__} reads no source: leave it out")
    return Prompt(inputs, aims)


def spelled(prompt: Prompt, tokenizer: Tokenizer) -> Prompt:
    """The same prompt with the spellings of its tokens, and the whole vocabulary.

    Padding stands on the right and is spelled by nothing: a padded row is shorter.
    """

    def spell(side: str, valid: str) -> list[list[str]]:
        rows = zip(prompt.inputs[side], prompt.inputs[valid], strict=True)
        return [[tokenizer.token(id) for id in ids[real]] for ids, real in rows]

    aims = [
        [None if id == IGNORED else tokenizer.token(id) for id in row] for row in prompt.targets
    ]
    text = Text(
        tokens=spell("tokens", "valid"),
        targets=aims,
        source=spell("source", "source_valid") if "source" in prompt.inputs else None,
    )
    vocabulary = tuple(tokenizer.token(id) for id in range(tokenizer.vocab_size))
    return Prompt(prompt.inputs, prompt.targets, text, vocabulary)


def _encoded(tokenizer: Tokenizer, text: str, model: Model) -> list[int]:
    """The ids of a text; in an encoder's, `[MASK]` stands for the mask token."""
    name = next((name for name in MASK if name in tokenizer.special), None)
    if not isinstance(model, Encoder) or name is None:
        return [int(id) for id in tokenizer.encode(text)]
    ids: list[int] = []
    for place, part in enumerate(text.split(name)):
        ids += [tokenizer.special[name]] * (place > 0) + tokenizer.encode(part).tolist()
    return ids


def _special(tokenizer: Tokenizer, names: Sequence[str]) -> int:
    for name in names:
        if name in tokenizer.special:
            return tokenizer.special[name]
    raise InputError(f"the vocabulary has no token such as {names[0]}: give tokens instead")


def _padded(
    what: str, rows: Sequence[Ids], filler: int, context: int, size: int
) -> tuple[IntArray, Any]:
    rows = [_ids(what, row) for row in rows]
    if not rows or not all(map(len, rows)):
        raise InputError(f"no {what}: expected at least one a row")
    longest = max(len(row) for row in rows)
    if longest > context:
        raise InputError(
            f"{longest} {what} in a row: the model's context is {context}; give a shorter text"
        )
    whole = np.full((len(rows), longest), filler, dtype=np.int64)
    valid = np.zeros(whole.shape, dtype=np.bool_)
    for place, row in enumerate(rows):
        whole[place, : len(row)] = row
        valid[place, : len(row)] = True
    known = (whole >= 0) & (whole < size)
    wrong = ~known & (whole != filler)
    if wrong.any():
        raise InputError(
            f"{what} hold {whole[wrong][0]}, which is outside the vocabulary of {size} entries"
        )
    return whole, valid


def _ids(what: str, row: Any) -> IntArray:
    """A row of token ids, if it is one."""
    ids = np.asarray(row if isinstance(row, str) or not hasattr(row, "__iter__") else list(row))
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise InputError(
            f"{what} are whole numbers, a list of them for each row; found {row!r:.60}"
        )
    return ids
