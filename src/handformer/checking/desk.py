"""Their numbers on one side, and on the other what our formulas make of them.

What they didn't write is worked out from what they did, so that a gap in a dump hides nothing: the
next value that is there is held against all steps since the last one that was.

What rounding explains of a difference has two parts. In the last step it is the bound of a running
error analysis (`formula.rounding`). Their roundings in steps that they didn't write are tried out:
the same steps are gone through a second time, each value moved at random by as much as its own
bound, and how far the result moves is what they explain.
"""

from collections.abc import Callable, Container, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.case import Case, Step
from handformer.checking.compare import Comparison, compare, together
from handformer.checking.inside import Errors, Moved, Numbers
from handformer.checking.slabs import SMALL, Slabs, pick
from handformer.checking.theirs import Theirs
from handformer.formula import Sheet
from handformer.formula.bounded import Bounding
from handformer.formula.evaluate import At, Evaluation
from handformer.formula.rounding import Rounded
from handformer.randomness import generator

AnyArray = NDArray[Any]
Edited = Mapping[tuple[str, str], Sheet]
# A moved value is one draw: how much farther another one may be.
SPREAD = 6.0
# How many entries may be worked out in search of mistakes before the values that show them.
ROOM = 60_000_000
TINY = 2.0**-126  # the smallest normal number of float32: what lies below is counted anyway


class Desk:
    """Values by path: theirs, or what comes of theirs.

    edited
        other sheets for the values at some (scope, name): formulas with a mistake in them
    """

    def __init__(
        self,
        case: Case,
        theirs: Mapping[str, Theirs],
        unit: float,
        *,
        copies: Mapping[str, Theirs] | None = None,
        written: Mapping[str, Theirs] | None = None,
        edited: Edited | None = None,
        floating: Any = np.float64,
    ) -> None:
        """`copies`: by a second path of a value, what they wrote there, where it is another one.

        written
            in which types values were written that aren't used here
        floating
            what is evaluated in: float32 overflows where theirs does
        """
        self.case, self.theirs, self.unit, self.edited = case, dict(theirs), unit, edited or {}
        self.copies, self.floating, self.written = copies or {}, floating, written or {}
        self.room = ROOM
        self._right: dict[str, Rounded] = {}
        self._worked_out: dict[str, AnyArray] = {}
        self._moved: dict[str, AnyArray] = {}

    def fork(self, edited: Edited, changed: set[str], floating: Any) -> "Desk":
        """The same with mistakes in it; `changed`: the paths of all values that may differ by them.

        What doesn't differ isn't worked out again.
        """
        other = Desk(
            self.case, self.theirs, self.unit, copies=self.copies, written=self.written,
            edited=edited, floating=floating,
        )  # fmt: skip
        for mine, its in (
            (self._worked_out, other._worked_out), (self._moved, other._moved),
        ):  # fmt: skip
            its.update({path: array for path, array in mine.items() if path not in changed})
        return other

    def derived(self, path: str) -> bool:
        """Whether a value is worked out here from others: neither theirs nor given."""
        return path not in self.theirs and self.case[path].formula is not None

    def parents(self, step: Step) -> list[str]:
        """The paths of what a step's formula mentions, as it is here."""
        sheet = self.edited.get((step.scope, step.name))
        return self.case.parents(step) if sheet is None else self.case.mentioned(step, sheet)

    def before(self, path: str, done: Container[str] = ()) -> list[str]:
        """The values that are worked out on the way to one, in the order of the computation.

        What is done already is left out, with what was on the way to it.
        """
        found: set[str] = set()
        waiting = [path]
        while waiting:
            parents = self.parents(self.case[waiting.pop()])
            new = {p for p in parents if p not in found and p not in done and self.derived(p)}
            waiting += new
            found |= new
        return sorted(found, key=self.case.order)

    def number(self, path: str) -> AnyArray:
        """A value as it is used: theirs, or given, or worked out."""
        if path in self.theirs:
            return self.theirs[path].array
        return self._worked_out[path] if self.derived(path) else self.case.trace[path]

    def copy(self, seen: str, path: str) -> AnyArray | None:
        """What they wrote of a value where it is seen again, or where it was on its way there.

        None: nothing else than where it was made.
        """
        way = (path, *self.case[path].value.also)
        last = way.index(seen) if seen in way else 0
        found = (self.copies[one] for one in reversed(way[1 : last + 1]) if one in self.copies)
        return next((one.array for one in found), None)

    def moved(self, path: str) -> AnyArray:
        """The same; a value that was worked out is moved by its roundings, and those before it."""
        return self._moved[path] if self.derived(path) else self.number(path)

    def _work_out(self, path: str) -> None:
        """Work out what stands on the way to a value, one after the other."""
        for before in self.before(path, self._worked_out):
            self._worked_out[before] = self._plain(self.case[before], None)

    def _prepare(self, path: str) -> None:
        """Work out what a value's evaluation reads, and its bound."""
        self._work_out(path)
        if any(map(self.derived, self.parents(self.case[path]))):
            self._move(path)

    def _move(self, path: str) -> None:
        """The same again, with everything moved by its roundings."""
        for before in self.before(path, self._moved):
            step = self.case[before]
            self._moves(step, *self.bounds(step, Moved(self, step)).bounded(step.name, None))

    def _moves(self, step: Step, value: AnyArray, error: AnyArray) -> None:
        """Move a value at random by its own bound."""
        if step.value.dtype.startswith("float"):
            value = value + np.where(np.isfinite(error), error, 0) * _draw(step.path, value)
        self._moved[step.path] = value

    def value_at(self, path: str, at: At | None) -> AnyArray:
        """What a value should be, without what rounding explains."""
        self._work_out(path)
        return self._plain(self.case[path], at)

    def error(self, path: str) -> float | AnyArray | None:
        """What their numbers were off already when they were written; None: nothing.

        A part of each entry's size, or an array of amounts.
        """
        one = self.theirs.get(path)
        if one is None or one.array.dtype.kind != "f":
            return None
        if one.quantum < TINY:
            return one.unit
        size = np.abs(one.array, dtype=np.float64)
        return np.where(np.isfinite(size), one.unit * size + one.quantum, 0.0)

    def right(self, path: str) -> Rounded:
        """What a value should be, by its formula, from the values here; and what rounding explains.

        Of a value without a formula, what the case says.
        """
        if path not in self._right:
            self._right[path] = self.right_at(path, None)
        return self._right[path]

    def right_at(self, path: str, at: At | None, bounds: Bounding | None = None) -> Rounded:
        """The same, at some places of each axis; `bounds`: the step under evaluation already."""
        self._work_out(path)
        step = self.case[path]
        if step.formula is None and (step.scope, step.name) not in self.edited:
            value = pick(self.case.trace[path], step, at)
            error = np.zeros(value.shape)
            exact = value.dtype.kind != "f"
        else:
            bounds = bounds or self.bounds(step)
            value, error = bounds.bounded(step.name, at)
            exact = not step.value.dtype.startswith("float")
            if not exact and any(map(self.derived, self.parents(step))):
                self._move(path)
                again = self._plain(step, at, Moved(self, step))
                error = error + SPREAD * spread(again - value)
        if exact:
            return Rounded(value, np.zeros(value.shape))
        return self._stored(path, value, error)

    def _stored(self, path: str, value: AnyArray, error: AnyArray) -> Rounded:
        """A value as it is written, with one more rounding: into the type of the dump."""
        unit, quantum = self._roundings(path)
        stored = np.asarray(np.abs(value), dtype=np.float64)  # a new one
        stored *= unit
        stored += error
        stored += quantum
        if not np.isfinite(stored.sum()):
            stored[np.isinf(value)] = 0.0
        return Rounded(value, stored)

    def held(self, path: str, array: AnyArray) -> Comparison:
        """Their numbers of a value against what it should be."""
        return together([(0, piece()) for piece in self.pieces(path, array)])

    def pieces(self, path: str, array: AnyArray, count: int = 1) -> list[Callable[[], Comparison]]:
        """The same in pieces, which so many threads may do side by side; `together` joins them.

        A large value is held a slab at a time.
        """
        step = self.case[path]
        if path in self._right or prod(step.value.shape) <= SMALL:
            return [lambda: compare(array, self._right.get(path) or self.right_at(path, None))]
        self._prepare(path)
        lanes = min(count, max(step.value.shape))
        return [partial(Slabs(self, step, lanes).held, array, lane, lanes) for lane in range(lanes)]

    def rounding(self, path: str) -> float:
        """The greatest relative error of one rounding in the type of a value."""
        return self._roundings(path)[0]

    def _roundings(self, path: str) -> tuple[float, float]:
        one = self.theirs.get(path, self.written.get(path))
        return (one.unit, one.quantum) if one is not None else (self.unit, 0.0)

    def stated(self, step: Step) -> tuple[Sheet, Mapping[str, Any]]:
        """The formulas and the numbers in them; an edited one may mention any."""
        sheet = self.edited.get((step.scope, step.name))
        if sheet is not None:
            return sheet, self.case.scalars(step)
        return self.case.sheet(step), self.case.placed[step.scope].scalars

    def _plain(self, step: Step, at: At | None, values: Numbers | None = None) -> AnyArray:
        sheet, scalars = self.stated(step)
        values = Numbers(self, step) if values is None else values
        evaluation = Evaluation(sheet, values, scalars, [step.name])
        evaluation.floating = self.floating
        with np.errstate(all="ignore"):
            return evaluation.value(sheet[step.name], at or {})

    def bounds(self, step: Step, values: Numbers | None = None) -> Bounding:
        """A step under evaluation, with the bound of its rounding."""
        sheet, scalars = self.stated(step)
        values = Numbers(self, step) if values is None else values
        return Bounding(
            sheet, values, scalars, [step.name], unit=self._roundings(step.path)[0] or self.unit,
            errors=Errors(values), floating=self.floating,
        )  # fmt: skip


def _draw(path: str, value: AnyArray) -> AnyArray:
    """Either way, and no entry by so little that a chance would hide what it does."""
    drawn = generator(0, 0, f"moved.{path}").uniform(-0.5, 0.5, value.shape)
    return drawn + np.copysign(0.5, drawn)


def spread(moved: AnyArray) -> AnyArray:
    """How far entries moved: each by itself, but no less than those of its row usually did."""
    size = np.abs(moved)
    size = np.where(np.isfinite(size), size, 0)
    if size.ndim == 0:
        return size
    usual = np.sqrt(np.mean(size**2, axis=-1, keepdims=True))
    return np.maximum(size, usual)
