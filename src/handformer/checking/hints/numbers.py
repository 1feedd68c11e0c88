"""Whether a factor, an amount or a coarser type explains the difference, and which number it is."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import sqrt

import numpy as np

from handformer.checking.case import Step
from handformer.checking.compare import AnyArray
from handformer.checking.desk import Desk
from handformer.formula.rounding import Rounded

CLOSE = 1e-4  # how near a factor has to be to a known number
ROUNDED = 2.0**-22  # of what is added: a sum that is stored in float32 is off by less
_TYPES = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


def numbers(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> Iterator[str]:
    """One factor for all, or one for each place of an axis; the same for what is added."""
    value = np.asarray(right.value, np.float64)
    factor = ratio(theirs, right)
    if factor:
        known = named(factor, desk.case.scalars(step))
        told = f", which is {known}" if known else ""
        digits = 7 if abs(factor - 1) < CLOSE * 100 else 4
        yield f"each number is {factor:.{digits}g} of what it should be{told}"
        return
    for times, each, along in (
        (True, "there is one wrong factor for each {}",
         "there is one wrong factor for each row along {}"),
        (False, "there is one number too many for each {}, added",
         "the same is added to all along {}"),
    ):  # fmt: skip
        letter = _axis(step, theirs, right, times=times, own=True)
        if letter is not None:
            yield each.format(letter)
            return
        letter = _axis(step, theirs, right, times=times, own=False)
        if letter is not None:
            yield along.format(letter)
            return
    for name, unit in _TYPES.items():
        off = np.abs(theirs - value) / (np.abs(value) + np.abs(value).max())
        if unit / 64 < off.max() < 2 * unit:
            yield f"it is as near as {name} comes: is something computed in it?"
            return


def ratio(theirs: AnyArray, right: Rounded) -> float | None:
    """The one factor that leads from the right numbers to theirs; None: there is none."""
    value = np.asarray(right.value, np.float64)
    norm = float((value * value).sum())
    if not norm or value.size < 2:
        return None
    factor = float((theirs * value).sum()) / norm
    allowed = right.error * (1 + abs(factor))
    return factor if bool((np.abs(theirs - factor * value) <= allowed).all()) else None


def _axis(step: Step, theirs: AnyArray, right: Rounded, *, times: bool, own: bool) -> str | None:
    """The axis with one factor, or one amount, for each of its places, or for all of a row."""
    axes = step.value.axes
    for axis, letter in enumerate(axes if len(axes) > 1 else ()):
        over = tuple(a for a in range(len(axes)) if (a != axis) == own)
        if (own or theirs.shape[axis] > 2) and _each(theirs, right, over, times=times):
            return letter
    return None


def _each(theirs: AnyArray, right: Rounded, over: tuple[int, ...], *, times: bool) -> bool:
    """Whether one factor, or one amount, serves all entries along some axes."""
    value = np.asarray(right.value, np.float64)
    if times:
        norm = (value * value).sum(axis=over, keepdims=True)
        factor = np.where(norm > 0, (theirs * value).sum(axis=over, keepdims=True) / norm, 0)
        return bool((np.abs(theirs - factor * value) <= right.error * (1 + np.abs(factor))).all())
    added = (theirs - value).mean(axis=over, keepdims=True)
    allowed = 2 * right.error + ROUNDED * np.abs(added)
    return bool((np.abs(theirs - value - added) <= allowed).all())


def named(factor: float, scalars: Mapping[str, float]) -> str:
    """What a factor could be: a size, its root, or what divides by them; empty: nothing is near."""
    if abs(factor + 1) < CLOSE:
        return "a sign"
    sizes = {n: float(v) for n, v in scalars.items() if isinstance(v, int) and v > 1}
    sizes |= {"2": 2.0}
    for name, size in sizes.items():
        root = sqrt(size)
        for text, found in (("sqrt({})", root), ("{}", size), ("1 / sqrt({})", 1 / root),
                            ("1 / {}", 1 / size)):  # fmt: skip
            if factor and abs(found / factor - 1) < CLOSE:
                return text.format(name)
    for (one, size), (other, below) in product(sizes.items(), sizes.items()):
        for text, found in ((f"{one} / {other}", size / below),
                            (f"sqrt({one} / {other})", sqrt(size / below))):  # fmt: skip
            if factor and one != other and abs(found / factor - 1) < CLOSE:
                return text
    return ""
