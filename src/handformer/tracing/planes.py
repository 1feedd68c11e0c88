"""A value of a trace as planes, to be looked at: its last two axes, and one plane for each place on
the others, with the texts of the tokens along the axes that have them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.axes import LEGEND, BoolArray
from handformer.errors import InputError
from handformer.tracing.manifest import Value
from handformer.tracing.trace import Trace

ATTENTION = "attn"


@dataclass(frozen=True)
class Axis:
    """One side of a plane: its letter, and what stands at its places; None: their numbers."""

    letter: str
    texts: tuple[str, ...] | None
    first: tuple[int, ...] | None = None  # the places in the whole, where only some were kept

    @property
    def name(self) -> str:
        """What the letter says."""
        said = LEGEND.get(self.letter, "").partition(",")[0].partition(":")[0]
        return f"{self.letter}: {said}" if said else self.letter

    def label(self, place: int) -> str:
        """What stands at a place."""
        if self.texts is not None:
            return self.texts[place]
        return str(place if self.first is None else self.first[place])


@dataclass(frozen=True)
class Plane:
    """Numbers (rows, columns), which of them the mask hides, and where the plane lies, as `h 1`."""

    place: str
    numbers: NDArray[Any]
    hidden: BoolArray
    rows: Axis
    columns: Axis


def entry(trace: Trace, path: str) -> Value:
    """The manifest's entry of a value whose numbers are there.

    Raises
    ------
    InputError
        where there is none, with the near names
    """
    try:
        found = trace.entry(path)
        trace[found.path]
    except KeyError as error:
        raise InputError(str(error.args[0])) from None
    return found


def planes(trace: Trace, path: str, *, row: int = 0) -> Iterator[Plane]:
    """The planes of a value; of its batch one row, to which the texts of the tokens belong."""
    value = entry(trace, path)
    array, hidden = trace[value.path], hidden_places(trace, value)
    letters = value.axes
    sides = [side(trace, value, letter, row) for letter in letters[-2:]]
    if "b" in letters[:-2]:
        axis = letters.index("b")
        array, hidden = np.take(array, row, axis), np.take(hidden, [row], axis).squeeze(axis)
        letters = letters[:axis] + letters[axis + 1 :]
    for place in np.ndindex(array.shape[:-2]):
        named = [f"{letter} {at}" for letter, at in zip(letters, place, strict=False)]
        numbers, unseen = np.atleast_2d(array[place]), np.atleast_2d(hidden[place])
        rows, columns = [*([Axis("", ("",))] * (2 - len(sides))), *sides]
        yield Plane(", ".join(named), numbers, unseen, rows, columns)


def side(trace: Trace, value: Value, letter: str, row: int) -> Axis:
    """An axis of a value, with the texts along it."""
    kept = trace.manifest.positions
    cut = kept if letter == "t" and letter not in value.source else None
    words = trace.words(value.path, letter, row)
    if words is None:
        return Axis(letter, None, cut)
    size = value.shape[value.axes.index(letter)]
    padded = [*words, *[""] * (size - len(words))]  # a shorter row of a batch
    return Axis(letter, tuple(map(visible, padded[:size])), cut)


def hidden_places(trace: Trace, value: Value) -> BoolArray:
    """Where the layer's mask hides a key, and where a value is minus infinity because of that."""
    array = trace[value.path]
    hidden: BoolArray = (
        np.isneginf(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    )
    mask = tree.join(value.path.rpartition(".")[0], "mask")
    if not {"t", "s"} <= {*value.axes} or mask not in trace:
        return hidden
    letters = trace.entry(mask).axes
    if mask == value.path or not {*letters} <= {*value.axes}:
        return hidden
    order = [letter for letter in value.axes if letter in letters]
    seen = trace[mask].transpose([letters.index(letter) for letter in order])
    shape = iter(seen.shape)
    spread = seen.reshape([next(shape) if letter in letters else 1 for letter in value.axes])
    hidden |= ~np.broadcast_to(spread, array.shape)
    return hidden


def first_attention(trace: Trace) -> str:
    """The path of the first attention's weights.

    Raises
    ------
    InputError
        where the trace holds none
    """
    found = trace.keys(f"*{ATTENTION}")
    places = [path for path in found if path.rpartition(".")[2] == ATTENTION]
    if not places:
        raise InputError("the trace holds no attention; name what to draw with --figure-of PATH")
    return places[0]


def visible(text: str) -> str:
    """A text on one line, with everything visible: our traces hold such texts, others may not."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
