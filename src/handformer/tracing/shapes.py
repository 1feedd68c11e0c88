"""The ops without their arithmetic: a pass through a model that takes no memory and no time.

Each op is made from its formulas alone. They tell the shape of every value and what it costs; the
value itself is a single zero, repeated along all axes. Layers and models run on these as they run
on the plain ops, and what they keep tells what a real pass will keep: two values are the same
memory here exactly where they are there.

    shapes = Shapes({"d_k": 16, "n_pairs": 8, "vocab_size": 65})
    logits, cache = model.forward(tokens, ops=shapes.ops)
    shapes.of(cache.blocks[0].attention.scores).flops
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import handformer.ops as plain
from handformer.axes import SIZES, BoolArray, record
from handformer.formula import Formula, Sheet
from handformer.formula.expression import Call, Entry, Number, Operation
from handformer.formula.sizes import Shape
from handformer.ops.drops import NO_DROPOUT
from handformer.tracing.cost import mentioned, work

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "and", "or")
AnyArray = NDArray[Any]


@dataclass(frozen=True)
class Made:
    """The memory that a value takes, and what it costs to compute (None: no formula tells)."""

    bytes: int
    flops: int | None


@dataclass(frozen=True)
class _Plan:
    """What an op will return under this name: a new value, or one that it was given (`same`)."""

    name: str
    same: str | None = None
    shape: Shape = ()
    dtype: Any = None
    flops: int = 0


class Shapes:
    """Values of a shape, a dtype and a cost; it remembers them all.

    Parameters
    ----------
    numbers
        the config's numbers that formulas mention and no argument of an op tells: d_k, n_pairs (of
        channels in a head) and vocab_size
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = dict(numbers)
        self._made: dict[int, Made] = {}
        self._held: list[AnyArray] = []  # so that no place in memory serves twice
        self._plans: dict[Any, list[_Plan]] = {}  # blocks call the same ops on the same shapes
        self.ops = self._namespace()

    def empty(self, shape: Shape, dtype: Any, flops: int | None = None) -> AnyArray:
        """An array without numbers in it: zeros, read-only, that take no memory.

        Raises
        ------
        MemoryError
            for a shape that no array can have
        """
        try:
            array = np.broadcast_to(np.zeros((), dtype), shape)
        except ValueError:
            raise MemoryError(f"no array can have the shape {shape}") from None
        self._made[place(array)] = Made(array.size * array.itemsize, flops)
        self._held.append(array)
        return array

    def of(self, array: AnyArray) -> Made:
        """What is known of an array. A view takes the memory of what it is a view of."""
        return self._made.get(place(array)) or Made(_root(array).nbytes, None)

    def _namespace(self) -> ModuleType:
        """The same names as in `handformer.ops`."""
        ops = _module("ops", {name: self._op(getattr(plain, name)) for name in plain.__all__})
        masks = {
            "causal": self._op(plain.masks.causal),
            "window": self._op(plain.masks.window),
            "padding": plain.masks.padding,  # a view: it takes no memory either
            "combine": self._combine,
        }
        ops.masks = _module("masks", masks)  # type: ignore[attr-defined]
        return ops

    def _op(self, op: ModuleType) -> ModuleType:
        found = (name for name in ("forward", "backward") if hasattr(op, name))
        return _module(op.__name__, {name: self._function(op, name) for name in found})

    def _function(self, op: ModuleType, direction: str) -> Callable[..., Any]:
        """A function of the op's own signature that returns what its formulas name."""
        plainly = getattr(op, direction)
        signature = inspect.signature(plainly)

        @wraps(plainly)
        def function(*arguments: Any, **options: Any) -> Any:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            given = bound.arguments
            key = (op, direction, *((name, _told(part)) for name, part in given.items()))
            if key not in self._plans:
                self._plans[key] = self._plan(op, direction, given)
            values: dict[str, AnyArray] = {}
            for plan in self._plans[key]:
                values[plan.name] = (
                    self.empty(plan.shape, plan.dtype, plan.flops)
                    if plan.same is None
                    else {**given, **values}[plan.same]
                )
            form = signature.return_annotation
            if hasattr(form, "_fields"):
                return form(**{field: values.get(field) for field in form._fields})
            (value,) = values.values()
            return value

        return function

    def _plan(self, op: ModuleType, direction: str, given: Mapping[str, Any]) -> list[_Plan]:
        """What the op returns, value by value, each from what is given and the ones before it."""
        absent = [name for name, part in given.items() if part is None]
        sheet: Sheet = op.FORMULAS.without(*absent)
        arrays = {name: part for name, part in given.items() if isinstance(part, np.ndarray)}
        scalars = self._numbers | {n: p for n, p in given.items() if isinstance(p, int | float)}
        plans = []
        for name in sheet.backward if direction == "backward" else sheet.forward:
            formula = sheet[name]
            same = _handed_on(formula, scalars)
            if same is not None:
                plans.append(_Plan(name, same))
                arrays[name] = arrays[same]
                continue
            known, sizes = arrays, scalars
            if direction == "backward" and name[2:] in given:  # a gradient has its value's shape
                known = arrays | {name: given[name[2:]]}
                told = {SIZES.get(letter) for letter in formula.axes}
                sizes = {name: size for name, size in scalars.items() if name not in told}
            found = work(sheet, name, known, sizes)
            dtype = _dtype(formula, mentioned(sheet, formula), arrays, given.get("dtype"))
            plans.append(_Plan(name, None, found.shape, dtype, found.flops))
            arrays[name] = np.broadcast_to(np.zeros((), dtype), found.shape)
        return plans

    def _combine(self, *masks: BoolArray) -> BoolArray:
        return self.empty(np.broadcast_shapes(*(mask.shape for mask in masks)), np.bool_)


@record
class Undrawn:
    """What stands in for dropout masks: a mask of the right size, with nothing drawn."""

    shapes: Shapes

    def at(self, name: str) -> "Undrawn":
        """The same for a part of the model."""
        return self

    def rate(self, rate: float) -> float:
        """The rate that holds in this pass: the layer's own."""
        return rate

    def keep(self, shape: Shape, rate: float) -> BoolArray:
        """A mask of this shape; at rate 0 one that takes no memory."""
        return self.shapes.empty(shape, np.bool_) if rate else NO_DROPOUT.keep(shape, rate)


def place(array: AnyArray) -> int:
    """Where the memory lies that an array is a view of: the same for two arrays that share it."""
    return int(_root(array).__array_interface__["data"][0])


def _root(array: AnyArray) -> AnyArray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _module(name: str, parts: Mapping[str, Any]) -> ModuleType:
    module = ModuleType(f"{__name__}.{name}")
    vars(module).update(parts)
    return module


def _told(part: Any) -> Any:
    """All that a plan depends on."""
    return (part.shape, part.dtype) if isinstance(part, np.ndarray) else part


def _handed_on(formula: Formula, scalars: Mapping[str, Any]) -> str | None:
    """The value that dropout at rate 0 hands on as it is: then all is kept, and divided by 1."""
    match formula.body:
        case Call(
            function="where",
            arguments=(Entry(), Operation(operator="/", left=Entry(name=same)), Number(value=0)),
        ) if "rate" in formula.scalars and scalars["rate"] == 0:
            return same
    return None


def _dtype(
    formula: Formula, names: tuple[str, ...], arrays: Mapping[str, AnyArray], asked: Any
) -> Any:
    """What is asked for; or of what a formula mentions the floating-point one; else int or bool."""
    if isinstance(formula.body, Operation) and formula.body.operator in _COMPARISONS:
        return np.bool_
    floating = (arrays[n].dtype for n in names if n in arrays and arrays[n].dtype.kind == "f")
    return next(floating, np.int64) if asked is None else asked
