"""Our own code with a mistake planted in it: one result of one call is another one.

`selfcheck` is then asked as ever. Where no op makes a value (a mask that is put together, a
gradient that is added up by a layer), the other numbers are put into the record.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import handformer.ops as plain
from handformer.formula import FormulaError
from handformer.selfcheck import layers, ops
from handformer.selfcheck.layers import LayerCase
from handformer.selfcheck.ops import Case
from handformer.selfcheck.parts import VALUES
from tests.selfcheck.subjects import Subject, drawn

AnyArray = NDArray[Any]
Changes = Callable[[str, str, Any], Any]


@dataclass(frozen=True)
class Made:
    """Where a value is made: the result of a call."""

    op: str
    direction: str
    call: int
    result: int
    array: AnyArray


def in_op(subject: Subject, path: str, wrong: AnyArray) -> bool:
    """Whether `verify` sees that an op returns a wrong value under a name."""
    case: Case = subject.of
    direction = "backward" if path in case.sheet.backward else "forward"
    names = getattr(case.sheet, direction)

    def change(_: str, way: str, made: Any) -> Any:
        return _with(made, names.index(path), wrong) if way == direction else made

    op = _copy(case.op, "", change)
    try:
        with np.errstate(all="ignore"):
            found = ops.verify(replace(case, op=op), drawn(), differences=False)
    except ValueError:  # it doesn't fit what comes next: seen by anybody
        return True
    return path in [one.value for one in found.values if not one.difference <= VALUES]


class InLayer:
    """A layer, or a whole model, in which mistakes are planted."""

    def __init__(self, subject: Subject) -> None:
        """Run it once, to see which op makes which value."""
        self.case: LayerCase = subject.of
        self.made: list[Made] = []
        self.ran = self._run(self._watch)

    def _run(self, change: Callable[[str, str, int, Any], Any]) -> layers.Run:
        calls: dict[tuple[str, str], int] = {}

        def counted(op: str, direction: str, made: Any) -> Any:
            call = calls[op, direction] = calls.get((op, direction), 0) + 1
            return change(op, direction, call, made)

        every = ModuleType(plain.__name__)
        for name in plain.__all__:
            part = getattr(plain, name)
            known = hasattr(part, "forward")
            setattr(every, name, _copy(part, name, counted) if known else part)
        return layers.run(replace(self.case, ops=every), drawn())

    def _watch(self, op: str, direction: str, call: int, made: Any) -> Any:
        for number, array in enumerate(_results(made)):
            self.made.append(Made(op, direction, call, number, array))
        return made

    def sees(self, path: str, wrong: AnyArray) -> str:
        """By what `verify` sees a wrong value: the op that returned it, or `record`; empty: not."""
        value = self.ran.values[path]
        maker = next((one for one in self.made if _same(one.array, value)), None)
        by = "record" if maker is None else maker.op
        try:
            with np.errstate(all="ignore"):
                ran = self.ran if maker is None else self._with(maker, wrong)
                values = {**ran.values, path: wrong} if maker is None else ran.values
                found = layers.verify(self.case.layer, ran.cache, ran.back, values)
        except (ValueError, FormulaError):  # it doesn't fit what comes next: seen by anybody
            return by
        if any(one.value == path and not one.difference <= VALUES for one in found):
            return by
        # What has no formula in its layer has to be the very array that the model was given.
        given = layers.given(self.case, values)
        other = layers.unexplained(self.case.layer, ran.cache, ran.back, values, inputs=given)
        return "memory" if path in other else ""

    def _with(self, maker: Made, wrong: AnyArray) -> layers.Run:
        """Run it again, with another result of one call."""

        def change(op: str, direction: str, call: int, made: Any) -> Any:
            here = (op, direction, call) == (maker.op, maker.direction, maker.call)
            return _with(made, maker.result, wrong) if here else made

        return self._run(change)


def _copy(op: ModuleType, name: str, change: Changes) -> ModuleType:
    """An op whose results are changed."""
    copy = ModuleType(op.__name__)
    vars(copy).update({key: part for key, part in vars(op).items() if key[:2] != "__"})
    for direction in ("forward", "backward"):
        if hasattr(op, direction):
            setattr(copy, direction, _changed(getattr(op, direction), name, direction, change))
    return copy


def _changed(function: Any, name: str, direction: str, change: Changes) -> Any:
    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        return change(name, direction, function(*given, **named))

    return called


def _results(made: Any) -> list[AnyArray]:
    parts = made if isinstance(made, tuple) else (made,)
    return [part for part in parts if part is not None]


def _with(made: Any, number: int, wrong: AnyArray) -> Any:
    """What a call returned, with another array in the place of one; what is None isn't counted."""
    right = _results(made)[number]
    new = wrong.reshape(right.shape) if wrong.size == right.size else wrong
    new = new.astype(right.dtype)
    if not isinstance(made, tuple):
        return new
    parts = [new if part is right else part for part in made]
    return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)


def _same(one: AnyArray, other: AnyArray) -> bool:
    """Whether two arrays are the same numbers in the same memory."""
    if not (isinstance(one, np.ndarray) and one.size and one.shape == other.shape):
        return False
    return one.__array_interface__["data"][0] == other.__array_interface__["data"][0]
