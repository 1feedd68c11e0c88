"""Their numbers on one side, and on the other what our formulas make of them.

What they didn't write is worked out from what they did, so that a gap in a dump hides nothing: the
next value that is there is held against all steps since the last one that was.

What rounding explains of a difference has two parts. In the last step it is the bound of a running
error analysis (`formula.rounding`). Their roundings in steps that they didn't write are tried out:
the same steps are gone through a second time, each value moved at random by as much as its own
bound, and how far the result moves is what they explain.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.case import GIVEN, Case, Step
from handformer.checking.theirs import Theirs
from handformer.formula import Sheet
from handformer.formula.evaluate import At, Evaluation
from handformer.formula.rounding import Rounded, bounded
from handformer.randomness import generator

AnyArray = NDArray[Any]
Edited = Mapping[tuple[str, str], Sheet]
# A moved value is one draw: how much farther another one may be.
SPREAD = 6.0
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
        edited: Edited | None = None,
        floating: Any = np.float64,
    ) -> None:
        """`copies`: by a second path of a value, what they wrote there, where it is another one.

        floating
            what is evaluated in: float32 overflows where theirs does
        """
        self.case, self.theirs, self.unit, self.edited = case, dict(theirs), unit, edited or {}
        self.copies, self.floating = copies or {}, floating
        self._right: dict[str, Rounded] = {}
        self._worked_out: dict[str, AnyArray] = {}
        self._moved: dict[str, AnyArray] = {}

    def fork(self, edited: Edited, changed: set[str], floating: Any) -> "Desk":
        """The same with mistakes in it; `changed`: the paths of all values that may differ by them.

        What doesn't differ isn't worked out again.
        """
        other = Desk(
            self.case, self.theirs, self.unit, copies=self.copies, edited=edited, floating=floating
        )
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

    def before(self, path: str) -> list[str]:
        """The values that are worked out on the way to one, in the order of the computation."""
        found: set[str] = set()
        waiting = [path]
        while waiting:
            new = {p for p in self.parents(self.case[waiting.pop()]) if self.derived(p)}
            waiting += new - found
            found |= new
        return sorted(found, key=self.case.order)

    def number(self, path: str) -> AnyArray:
        """A value as it is used: theirs, or given, or worked out."""
        if path in self.theirs:
            return self.theirs[path].array
        return self._worked_out[path] if self.derived(path) else self.case.trace[path]

    def moved(self, path: str) -> AnyArray:
        """The same; a value that was worked out is moved by its roundings, and those before it."""
        return self._moved[path] if self.derived(path) else self.number(path)

    def _work_out(self, path: str) -> None:
        """Work out what stands on the way to a value, one after the other."""
        for before in self.before(path):
            if before not in self._worked_out:
                self._worked_out[before] = self._plain(self.case[before], None)

    def _move(self, path: str) -> None:
        """The same again, with everything moved by its roundings."""
        for before in self.before(path):
            if before not in self._moved:
                step = self.case[before]
                value, error = self._evaluate(step, Moved(self, step), None)
                if step.value.dtype.startswith("float"):
                    draw = generator(0, 0, f"moved.{before}").uniform(-1, 1, value.shape)
                    value = value + np.where(np.isfinite(error), error, 0) * draw
                self._moved[before] = value

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

    def right_at(self, path: str, at: At | None) -> Rounded:
        """The same, at some places of each axis."""
        self._work_out(path)
        step = self.case[path]
        unit, quantum = self._roundings(path)
        if step.formula is None and (step.scope, step.name) not in self.edited:
            value = pick(self.case.trace[path], step, at)
            error = np.zeros(value.shape)
            exact = value.dtype.kind != "f"
        else:
            value, error = self._evaluate(step, Numbers(self, step), at)
            exact = not step.value.dtype.startswith("float")
            if not exact and any(map(self.derived, self.parents(step))):
                self._move(path)
                again = self._evaluate(step, Moved(self, step), at).value
                error = error + SPREAD * _spread(again - value)
        if exact:
            return Rounded(value, np.zeros(value.shape))
        stored = np.abs(value, dtype=np.float64)
        stored *= unit
        stored += quantum + error
        return Rounded(value, np.where(np.isinf(value), 0.0, stored))

    def _roundings(self, path: str) -> tuple[float, float]:
        one = self.theirs.get(path)
        return (one.unit, one.quantum) if one is not None else (self.unit, 0.0)

    def _stated(self, step: Step) -> tuple[Sheet, Mapping[str, Any]]:
        """The formulas and the numbers in them; an edited one may mention any."""
        sheet = self.edited.get((step.scope, step.name))
        if sheet is not None:
            return sheet, self.case.scalars(step)
        return self.case.sheet(step), self.case.placed[step.scope].scalars

    def _plain(self, step: Step, at: At | None) -> AnyArray:
        sheet, scalars = self._stated(step)
        evaluation = Evaluation(sheet, Numbers(self, step), scalars, [step.name])
        evaluation.floating = self.floating
        with np.errstate(all="ignore"):
            return evaluation.value(sheet[step.name], at or {})

    def _evaluate(self, step: Step, values: "Numbers", at: At | None) -> Rounded:
        sheet, scalars = self._stated(step)
        unit = self._roundings(step.path)[0] or self.unit
        errors = {} if isinstance(values, Moved) else Errors(values)
        return bounded(
            sheet, step.name, values, scalars, unit=unit, errors=errors, at=at,
            floating=self.floating,
        )  # fmt: skip


class Numbers(Mapping[str, AnyArray]):
    """The values by the names that a step's formula gives them.

    Its own name stands for its shape, which tells how far letters run.
    """

    def __init__(self, desk: Desk, step: Step) -> None:
        self.desk, self.step = desk, step

    def path(self, name: str) -> str | None:
        """Which value a name stands for."""
        return self.desk.case.find(self.step.scope, name)

    def read(self, path: str) -> AnyArray:
        """The numbers of a value."""
        return self.desk.number(path)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.path(name) is not None

    def __getitem__(self, name: str) -> AnyArray:
        path = self.path(name)
        if path is None:
            raise KeyError(name)
        if name.startswith(GIVEN):
            return self.desk.case.trace[path]
        copy = self.desk.copies.get(f"{self.step.scope}.{name}")
        if copy is not None:
            return copy.array
        if path == self.step.path:
            return np.broadcast_to(np.float64(0), self.step.value.shape)
        return self.read(path)

    def __iter__(self) -> Iterator[str]:
        return iter(())  # what a name stands for is only known when it is asked for

    def __len__(self) -> int:
        raise NotImplementedError


class Moved(Numbers):
    """The same, moved by roundings."""

    def read(self, path: str) -> AnyArray:
        """The numbers of a value, moved."""
        return self.desk.moved(path)


class Errors(Mapping[str, float | AnyArray]):
    """What the values of a step are off already, by the names that its formula gives them."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def __getitem__(self, name: str) -> float | AnyArray:
        path = self.numbers.path(name)
        found = None if path is None else self.numbers.desk.error(path)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


def pick(array: AnyArray, step: Step, at: At | None) -> AnyArray:
    """Some places of each axis of an array; None: all of it."""
    if at is None:
        return array
    for axis, letter in enumerate(step.value.axes):
        if letter in at:
            array = np.take(array, np.ravel(at[letter]), axis=axis)
    return array


def _spread(moved: AnyArray) -> AnyArray:
    """How far entries moved: each by itself, but no less than those of its row usually did."""
    size = np.abs(moved)
    size = np.where(np.isfinite(size), size, 0)
    if size.ndim == 0:
        return size
    usual = np.sqrt(np.mean(size**2, axis=-1, keepdims=True))
    return np.maximum(size, usual)
