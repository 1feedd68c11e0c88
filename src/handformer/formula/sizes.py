"""How far each letter of a formula runs: told by the arrays on the right, or else from outside."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import LEADING, SIZES
from handformer.formula.expression import Entry, FormulaError, Index, Reduction, walk
from handformer.formula.sheet import Formula

_ANY_WIDTH = tuple(letter for letter, size in SIZES.items() if size == "d_model")

Shape = tuple[int, ...]


def sizes(
    formula: Formula,
    array: Callable[[Entry], NDArray[Any]],
    scalars: Mapping[str, Any],
    own: NDArray[Any] | None,
) -> dict[str, Shape]:
    """The size of each letter, as a shape: that of `b` has a size for each leading axis.

    Parameters
    ----------
    array
        gives the array of an entry
    scalars
        the config's numbers, among them the sizes of letters that no array on the right tells
    own
        the value itself, where it is known: its shape tells what even the config doesn't, and how
        wide `i` and `j` are, which stand for other widths too than `d_model`

    Raises
    ------
    FormulaError
        for a letter with two sizes or none, and an array with another number of axes
    """
    found = _from_arrays(formula, array)
    pieces = None if own is None else _pieces(formula.axes, np.shape(own))
    left = dict(zip(formula.axes, pieces or (), strict=False))
    for letter in formula.letters:
        if letter not in found:
            found[letter] = _from_outside(formula, letter, scalars, left)
    return found


def _from_arrays(formula: Formula, array: Callable[[Entry], NDArray[Any]]) -> dict[str, Shape]:
    found: dict[str, tuple[Shape, str]] = {}
    for node in formula.entries:
        for place, size in zip(node.indices, split(formula, node, array(node).shape), strict=True):
            if not isinstance(place, Index):
                continue
            first, source = found.setdefault(place.letter, (size, node.name))
            if first != size:
                one, other = f"{_told(first)} in {source}", f"{_told(size)} in {node.name}"
                reason = f"index {place.letter} runs over {one} and {other}"
                raise FormulaError(formula.text, place.column, reason)
    return {letter: size for letter, (size, _) in found.items()}


def _from_outside(
    formula: Formula, letter: str, scalars: Mapping[str, Any], left: Mapping[str, Shape]
) -> Shape:
    name = SIZES.get(letter, "")
    if letter in left and (letter in _ANY_WIDTH or name not in scalars):
        return left[letter]
    if name in scalars:
        return (int(scalars[name]),)
    hint = f": give {name}" if name else ""
    reason = f"nothing tells how far {letter} runs{hint}"
    raise FormulaError(formula.text, _first(formula, letter), reason)


def split(formula: Formula, entry: Entry, shape: Shape) -> list[Shape]:
    """A shape in pieces, one for each place of an entry: `b` takes any number of axes."""
    places = [place.letter if isinstance(place, Index) else "" for place in entry.indices]
    pieces = _pieces(places, shape)
    if pieces is None:
        least = f"at least {len(places) - 1}" if LEADING in places else len(places)
        reason = f"{entry.name} has {len(shape)} axes, not {least}"
        raise FormulaError(formula.text, entry.column, reason)
    return pieces


def _pieces(places: Sequence[str], shape: Shape) -> list[Shape] | None:
    extra = len(shape) - len(places)
    if extra < -1 or (extra and LEADING not in places):
        return None
    pieces, start = [], 0
    for place in places:
        stop = start + 1 + extra * (place == LEADING)
        pieces.append(shape[start:stop])
        start = stop
    return pieces


def fold(pieces: Iterable[Shape]) -> Shape:
    """The shape with the leading axes as one."""
    return tuple(prod(piece) for piece in pieces)


def _first(formula: Formula, letter: str) -> int:
    """The column of a letter on the left, or of what runs over it."""
    if letter in formula.axes:
        return formula.text.index(letter, formula.text.index("["))
    over = (n for n in walk(formula.body) if isinstance(n, Reduction) and letter in n.letters)
    return next(over).column


def _told(shape: Shape) -> str:
    return str(shape[0]) if len(shape) == 1 else str(shape)
