"""Whether their numbers are those of another value, or the same ones in another order."""

from collections.abc import Iterator

import numpy as np

from handformer.checking.case import Step
from handformer.checking.compare import AnyArray
from handformer.checking.desk import Desk
from handformer.formula.rounding import Rounded

ALIKE = 1e-5  # of the largest entry


def likeness(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> Iterator[str]:
    """Another value with these numbers; the right numbers in another order, or moved by a place."""
    if theirs.size > 1 and not theirs.any():
        yield "all of it is 0: was it ever written?"
        return
    other = _another(desk, step, theirs)
    if other is not None:
        yield f"it holds the numbers of {other}"
        return
    value = np.asarray(right.value, np.float64)
    for axis, letter in enumerate(step.value.axes):
        length = value.shape[axis]
        for shift in (1, -1) if length > 2 else ():
            kept = slice(1, None) if shift > 0 else slice(None, -1)
            moved = np.take(np.roll(value, shift, axis), np.arange(length)[kept], axis)
            if _alike(np.take(theirs, np.arange(length)[kept], axis), moved):
                yield f"the right numbers stand one place too {_way(shift)} along {letter}"
                return
    if value.size > 2 and _alike(np.sort(theirs.ravel()), np.sort(value.ravel())):
        yield "the right numbers stand in other places: a transpose too many, or one missing?"


def _way(shift: int) -> str:
    return "far" if shift > 0 else "near"


def _another(desk: Desk, step: Step, theirs: AnyArray) -> str | None:
    if theirs.size < 4:
        return None
    for other in desk.case:
        if other.path == step.path or other.value.shape != step.value.shape:
            continue
        if not other.value.dtype.startswith("float"):
            continue
        known = [desk.case.trace[other.path]]
        if other.path in desk.theirs:
            known.append(desk.theirs[other.path].array)
        if any(_alike(theirs, np.asarray(one, np.float64)) for one in known):
            return other.path
    return None


def _alike(found: AnyArray, wanted: AnyArray) -> bool:
    if found.shape != wanted.shape:
        return False
    scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
    apart = np.abs(found - wanted)
    same = (found == wanted) | (apart <= ALIKE * scale)
    return bool(scale > 0 and same.all())
