"""Sequence pairs: a file with one pair a line, source TAB target, and padded batches made of it.

Reading is strict: a line that isn't a pair is an error with its number, never skipped. A pair too
long for the model's context is left out and counted, because real collections have a few, and
cutting one would teach the model to stop in the middle of a sentence.

The target is used twice: the decoder reads it behind a begin token, and is asked for it with an end
token behind. So place t of `targets` is what follows place t of `target_in`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from handformer.axes import BoolArray, IntArray, record
from handformer.errors import InputError
from handformer.ops.cross_entropy import IGNORED
from handformer.randomness import generator


@dataclass(frozen=True, slots=True)
class Pair:
    """One line of the file."""

    place: str
    source: str
    target: str


@record
class Example:
    """The ids of a pair, without begin and end tokens."""

    source: IntArray
    target: IntArray


@record
class PairBatch:
    """Pairs padded to the longest of each side.

    `source`, `source_valid`: (batch, s); `target_in`, `targets`, `target_valid`: (batch, t).
    Padding is the pad id in `source` and `target_in`, -100 in `targets`, false in both masks.
    """

    source: IntArray
    source_valid: BoolArray
    target_in: IntArray
    targets: IntArray
    target_valid: BoolArray


def read(path: Path) -> list[Pair]:
    """The pairs of a file, in its order. Lines end in LF or CRLF; text is UTF-8.

    Raises
    ------
    InputError
        if the file can't be read, is empty, isn't UTF-8, or has a line that isn't source TAB target
        with text on both sides
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: can't read the pairs: {error.strerror}") from None
    return parse(data, str(path))


def parse(data: bytes, name: str) -> list[Pair]:
    """The pairs in the bytes of a file of that name: as `read`."""
    lines = data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")
    if lines == [b""]:
        raise InputError(f"{name}: the file is empty, expected a pair a line: source TAB target")
    return [_pair(f"{name}, line {number}", line) for number, line in enumerate(lines, start=1)]


def split(pairs: Sequence[Pair], *, validation: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Training and validation pairs: a random part of about `validation` (0 to 1) for the latter.

    Sources are drawn, not lines: all translations of one source are on one side, so that validation
    asks for nothing the model was told. Each side gets at least one.

    Raises
    ------
    InputError
        if there is only one source
    """
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    if len(sources) < 2:
        raise InputError(
            f"{pairs[0].place}: only one source in all ({sources[0][:40]!r}), and training and "
            "validation need one each: give more pairs"
        )
    count = min(max(1, round(validation * len(sources))), len(sources) - 1)
    drawn = generator(seed, 0, "split").permutation(len(sources))[:count]
    held = {sources[place] for place in drawn}
    return (
        [pair for pair in pairs if pair.source not in held],
        [pair for pair in pairs if pair.source in held],
    )


def encode(
    pairs: Sequence[Pair], encoder: Callable[[str], IntArray], *, context: int
) -> tuple[list[Example], int]:
    """The ids of the pairs that fit into the context, and how many didn't.

    A pair fits if its source has at most `context` tokens and its target, with the begin or the end
    token, too.

    Raises
    ------
    InputError
        if the encoder refuses a text or makes nothing of it, or if no pair fits
    """
    examples = []
    for pair in pairs:
        try:
            source, target = encoder(pair.source), encoder(pair.target)
        except InputError as error:
            raise InputError(f"{pair.place}: {error}") from None
        for side, ids in (("source", source), ("target", target)):
            if not len(ids):
                raise InputError(f"{pair.place}: the {side} has no tokens: expected some text")
        if len(source) <= context and len(target) + 1 <= context:
            examples.append(Example(source, target))
    if not examples:
        raise InputError(
            f"{pairs[0].place}: neither this pair nor any other fits into the context of {context} "
            "tokens: give a larger context or shorter pairs"
        )
    return examples, len(pairs) - len(examples)


def collate(examples: Sequence[Example], *, pad: int, bos: int, eos: int) -> PairBatch:
    """One batch of these examples, padded on the right; `pad`, `bos`, `eos` are the tokens' ids."""
    source, source_valid = _padded([example.source for example in examples], pad)
    target_in, target_valid = _padded([np.array([bos, *e.target]) for e in examples], pad)
    targets, _ = _padded([np.array([*e.target, eos]) for e in examples], IGNORED)
    return PairBatch(source, source_valid, target_in, targets, target_valid)


def training_examples(
    examples: Sequence[Example],
    *,
    batch: int,
    seed: int,
    step: int,
    micro: int = 0,
    micros: int = 1,
) -> list[Example]:
    """The examples of micro-batch `micro` of `micros` in update `step`, from these numbers alone.

    The examples are passed through in rounds, each in a random order of its own: every example is
    seen once a round. An update takes batch * micros examples, the micro-batches in turn.
    """
    first = (step * micros + micro) * batch
    orders: dict[int, IntArray] = {}
    drawn = []
    for number in range(first, first + batch):
        turn, place = divmod(number, len(examples))
        if turn not in orders:
            orders[turn] = generator(seed, turn, "pairs").permutation(len(examples))
        drawn.append(examples[orders[turn][place]])
    return drawn


def evaluation_examples(
    examples: Sequence[Example], *, batch: int, count: int
) -> Iterator[list[Example]]:
    """Up to `count` examples, evenly spaced, always the same, in batches of up to `batch`."""
    count = min(count, len(examples))
    chosen = [examples[place * len(examples) // count] for place in range(count)]
    for first in range(0, count, batch):
        yield chosen[first : first + batch]


def _pair(place: str, line: bytes) -> Pair:
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place}, byte {error.start + 1}: 0x{line[error.start]:02x} isn't UTF-8 here: save "
            "the file as UTF-8"
        ) from None
    sides = text.split("\t")
    if len(sides) != 2:
        tabs = "no tab" if len(sides) == 1 else f"{len(sides) - 1} tabs"
        raise InputError(f"{place}: {tabs} in {text[:40]!r}, expected one: source TAB target")
    for side, words in zip(("source", "target"), sides, strict=True):
        if not words.strip():
            raise InputError(
                f"{place}: the {side} is empty, expected text on both sides of the tab"
            )
    return Pair(place, *sides)


def _padded(rows: Sequence[IntArray], filler: int) -> tuple[IntArray, BoolArray]:
    lengths = np.array([len(row) for row in rows])
    valid = np.arange(lengths.max()) < lengths[:, None]
    padded = np.full(valid.shape, filler, dtype=np.int64)
    padded[valid] = np.concatenate(rows)
    return padded, valid
