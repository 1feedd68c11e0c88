"""Their array in our form: its type, its shape, and in which order its axes lie."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, permutations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.case import Step
from handformer.checking.theirs import Theirs
from handformer.formula.sizes import Shape

AnyArray = NDArray[Any]
_KINDS = {"b": "truth values", "i": "whole numbers", "u": "whole numbers", "f": "fractions",
          "c": "complex numbers", "O": "objects", "U": "text", "S": "text"}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """One way to read an array.

    said, row
        in words, and the row of the catalogue
    array
        our form of it
    """

    said: str
    row: str
    array: AnyArray


@dataclass(frozen=True)
class Fitted:
    """Their array in our form.

    refused
        why it has none; `shape`: because of its shape alone
    layout
        in which odd way its axes lie
    """

    theirs: Theirs | None
    refused: str = ""
    shape: bool = False
    layout: Reading | None = None


def fit(theirs: Theirs, step: Step, right: AnyArray) -> Fitted:
    """Bring an array into the form of a value; `right` chooses between several ways to read it."""
    array, refused = _typed(theirs.array, step)
    if refused:
        return Fitted(None, refused)
    theirs = replace(theirs, array=array)
    shape = step.value.shape
    if array.shape == shape:
        return Fitted(theirs)
    alone = _without_ones(array, shape)
    if alone is not None:
        note = f"{theirs.note}; " if theirs.note else ""
        said = f"{note}read {array.shape} as {shape}"
        return Fitted(replace(theirs, array=alone, note=said))
    ways = list(readings(array, step))
    if not ways:
        return Fitted(None, f"its shape is {array.shape}, expected {_shaped(step)}", shape=True)
    best = min(ways, key=lambda way: _apart(way.array, right))
    return Fitted(replace(theirs, array=best.array), layout=best)


def _shaped(step: Step) -> str:
    return f"{step.value.shape}: {', '.join(step.value.axes) or 'a number'}"


def _typed(array: AnyArray, step: Step) -> tuple[AnyArray, str]:
    """The array in the kind of numbers that the value has; and why it can't be, if so."""
    wanted, kind = step.value.dtype, array.dtype.kind
    found = _KINDS.get(kind, str(array.dtype))
    if kind not in "biuf":
        return array, f"it holds {found}"
    if wanted.startswith("float"):
        if kind != "f":
            return (
                array,
                f"it holds {found} ({array.dtype}), expected fractions: were they cut off?",
            )
        return array, ""
    whole = kind != "f" or bool(np.all(np.isfinite(array) & (array == np.round(array))))
    if not whole:
        return array, f"it holds fractions, expected {_KINDS[np.dtype(wanted).kind]}"
    if wanted == "bool":
        if not np.isin(array, (0, 1)).all():
            return array, "it holds other numbers than 0 and 1, expected truth values"
        return array.astype(np.bool_), ""
    return array.astype(np.int64), ""


def _without_ones(array: AnyArray, shape: Shape) -> AnyArray | None:
    """The array in another shape, if only axes of length 1 at the front come or go."""
    own, ours = list(array.shape), list(shape)
    while own and own[0] == 1 and len(own) > len(ours):
        own.pop(0)
    while ours and ours[0] == 1 and len(ours) > len(own):
        ours.pop(0)
    return array.reshape(shape) if own == ours else None


def readings(array: AnyArray, step: Step) -> Iterator[Reading]:
    """The ways to read an array as a value: axes in another order, several as one, by columns."""
    axes, shape = step.value.axes, step.value.shape
    if array.size != prod(shape):
        return
    for order in permutations(range(len(shape))):
        turned = tuple(shape[axis] for axis in order)
        letters = [axes[axis] for axis in order]
        for groups in _groups(len(shape)):
            merged = tuple(prod(turned[a:b]) for a, b in groups)
            plain = list(order) == sorted(order) and len(groups) == len(shape)
            if merged != array.shape or plain:
                continue
            back = array.reshape(turned).transpose(np.argsort(order))
            told = " x ".join("".join(letters[a:b]) for a, b in groups)
            said = f"its axes lie as {told}, expected {' x '.join(axes)}"
            yield Reading(said, _row(step, order), back)
    if array.shape in (shape, shape[::-1]):
        yield from _unsaid(array, step)


def _unsaid(array: AnyArray, step: Step) -> Iterator[Reading]:
    """Numbers that lie in memory in another order than the shape says."""
    axes, shape = step.value.axes, step.value.shape
    for order in permutations(range(len(shape))):
        if list(order) != sorted(order):
            turned = array.reshape([shape[axis] for axis in order])
            lies = " x ".join(axes[axis] for axis in order)
            said = f"its numbers lie in memory as {lies}, though it says {' x '.join(axes)}"
            yield Reading(said, _row(step, order), turned.transpose(np.argsort(order)))


def _row(step: Step, order: tuple[int, ...]) -> str:
    """Which row of the catalogue tells of axes in another order."""
    if step.value.kind in ("weight", "weight_gradient"):
        return "DUMP-3"
    return "DUMP-1" if len(order) > 1 and list(order) == sorted(order)[::-1] else "DUMP-7"


def _groups(count: int) -> Iterator[list[tuple[int, int]]]:
    """Every way to take so many axes together, neighbours with neighbours."""
    for size in range(count):
        for cuts in combinations(range(1, count), size):
            edges = (0, *cuts, count)
            yield list(pairwise(edges))


def _apart(found: AnyArray, right: AnyArray) -> float:
    with np.errstate(all="ignore"):
        apart = np.abs(np.asarray(found, np.float64) - np.asarray(right, np.float64))
    return float(np.mean(np.where(np.isfinite(apart), apart, 0)))
