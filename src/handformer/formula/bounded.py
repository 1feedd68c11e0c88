"""A formula under evaluation, whose parts carry the bounds of their errors: see `rounding`."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import pi, prod, sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from handformer.formula.arithmetic import CONSTANTS, FUNCTIONS, OPERATORS, total
from handformer.formula.chain import FUNCTION
from handformer.formula.contraction import Factor, contract
from handformer.formula.evaluate import Evaluation, Scalars, Values
from handformer.formula.expression import (
    Call,
    Entry,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
)
from handformer.formula.frame import At, Frame
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import Shape

_AnyArray = NDArray[Any]


# What given values are off, by name: a part of each entry's size, or an array of amounts.
Errors = Mapping[str, float | _AnyArray]
MANY = 2**16  # entries of a sum of products: the magnitudes of so many aren't summed one by one
SHORT = 1 + 2.0**-10  # what a sum of positive float32 numbers may come out too small, at most


class Estimate(NamedTuple):
    """A value, its magnitude, and the bound of its error."""

    value: Any
    size: Any
    error: Any


class Bounding(Evaluation):
    """An evaluation that finds the bounds of its values, too."""

    def __init__(
        self,
        sheet: Sheet,
        values: Values,
        scalars: Scalars,
        names: Iterable[str],
        *,
        unit: float,
        least: float = float(np.finfo(np.float32).tiny),
        errors: Errors | None = None,
        floating: Any = np.float64,
    ) -> None:
        """`errors`: what the given values are off already.

        unit, least
            the greatest relative error of one rounding of the other side, and its smallest normal
            number
        floating
            what is evaluated in
        """
        super().__init__(sheet, values, scalars, names)
        self.floating = floating
        self.unit = float(unit + np.finfo(np.float64).eps / 2)
        self.least = least
        self.errors = ChainMap[str, _AnyArray](
            {}, cast("dict[str, _AnyArray]", {} if errors is None else errors)
        )

    def bounded(self, name: str, at: At | None) -> tuple[_AnyArray, _AnyArray]:
        """A value and its bound, at some places of each axis."""
        with np.errstate(all="ignore"):  # `where` evaluates both sides
            value = self.value(self.sheet[name], at or {})
        return value, np.asarray(self.errors[name], dtype=np.float64)

    def frame(self, formula: Formula, at: At, known: Mapping[str, Shape] | None) -> "Bounded":
        """A formula under evaluation."""
        return Bounded(self, formula, at, known)


class Bounded(Frame):
    """A formula under evaluation, whose parts carry their bounds with them."""

    owner: "Bounding"

    def value(self) -> _AnyArray:
        """The whole formula's value; its bound is left with the owner, under the formula's name."""
        found = self.estimate(self.formula.body, True)
        self.owner.errors[self.formula.name] = self.whole(found.error)
        return self.whole(found.value)

    def estimate(self, node: Node, live: Any) -> Estimate:
        """A part with its bound; only where `live` is true does it matter."""
        match node:
            case Negative(part=part):
                inner = self.estimate(part, live)
                return inner._replace(value=OPERATORS["-"](0, inner.value))
            case Operation(operator="+" | "-" as operator, left=left, right=right):
                return self._sum(operator, self.estimate(left, live), self.estimate(right, live))
            case Operation(operator="*", left=left, right=right):
                return self._product(self.estimate(left, live), self.estimate(right, live))
            case Operation(operator="/", left=left, right=right):
                return self._quotient(self.estimate(left, live), self.estimate(right, live))
            case Operation(operator="**", left=left, right=right):
                return self._power(self.estimate(left, live), self.estimate(right, live))
            case Call(function="where", arguments=(condition, yes, no)):
                return self._choice(self.read(condition, live), yes, no, live)
            case Call(function=name, arguments=(part,)):
                return self._function(name, self.estimate(part, live))
            case Reduction(kind=kind):
                product = None if kind == "max" else self._multiplied(node, live)
                return product or self._reduced(node, self.estimate(node.body, live))
        value = np.asarray(self.read(node, live))
        setting = isinstance(node, Scalar) and node.name in {*CONSTANTS, *self.owner.scalars}
        written = (setting or isinstance(node, Number)) and value.dtype.kind == "f"
        inexact = written and bool(np.all((value != np.round(value)) & np.isfinite(value)))
        size = np.abs(value)
        error = self.owner.unit * size if inexact else self._brought(node, size, live)
        return Estimate(value, size, error)

    def _brought(self, node: Node, size: Any, live: Any) -> Any:
        """The error that an array comes with."""
        match node:
            case Entry(name=name) if name in self.owner.errors:
                error = self.owner.errors[name]
                return error * size if isinstance(error, float) else self.lookup(node, error, live)
            case Scalar(name=name) if name in self.owner.errors and name not in self.owner.scalars:
                error = self.owner.errors[name]
                return error * size if isinstance(error, float) else error
        return 0.0

    def _sum(self, operator: str, a: Estimate, b: Estimate) -> Estimate:
        value, size = OPERATORS[operator](a.value, b.value), a.size + b.size
        return Estimate(value, size, a.error + b.error + self._once(value, size))

    def _product(self, a: Estimate, b: Estimate) -> Estimate:
        value, size = OPERATORS["*"](a.value, b.value), a.size * b.size
        error = abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error
        return Estimate(value, size, error + self._once(value, size) + self._lost(value))

    def _quotient(self, a: Estimate, b: Estimate) -> Estimate:
        value, below = OPERATORS["/"](a.value, b.value), abs(b.value) - b.error
        error = (a.error + abs(value) * b.error) / below
        # A divisor that may be 0 tells nothing.
        error = np.where(below > 0, error, np.where(b.error > 0, np.inf, 0.0))
        size = a.size / abs(b.value)
        return Estimate(value, size, error + self._once(value, size) + self._lost(value))

    def _power(self, a: Estimate, b: Estimate) -> Estimate:
        value = OPERATORS["**"](a.value, b.value)
        if _whole(a.value) and _whole(b.value) and np.min(b.value, initial=0) >= 0:
            return Estimate(value, abs(value), 0.0 * abs(value))
        least = np.maximum(abs(a.value) - a.error, np.finfo(np.float64).tiny)
        moved = np.abs(b.value) * np.log1p(a.error / least) + abs(np.log(least)) * b.error
        whole = (b.error == 0) & (np.asarray(b.value) % 1 == 0) & (np.asarray(b.value) > 0)
        # A whole power of a number near 0 moves little, though its logarithm moves much.
        around = np.power(abs(a.value) + a.error, b.value * 1.0)
        error = np.where(whole, around - abs(value), abs(value) * np.expm1(moved))
        return self._called(value, error)

    def _function(self, name: str, a: Estimate) -> Estimate:
        value = FUNCTIONS[name](a.value)
        return self._called(value, np.where(a.error > 0, _MOVED[name](a.value, a.error), 0.0))

    def _called(self, value: Any, error: Any) -> Estimate:
        own = FUNCTION * self.owner.unit * np.where(np.isfinite(value), abs(value) + error, 0.0)
        return Estimate(value, abs(value), error + own + self._lost(value))

    def _choice(self, condition: Any, yes: Node, no: Node, live: Any) -> Estimate:
        taken = np.asarray(condition, dtype=bool)
        one = self.estimate(yes, np.logical_and(live, taken))
        other = self.estimate(no, np.logical_and(live, ~taken))
        return Estimate(*(np.where(taken, a, b) for a, b in zip(one, other, strict=True)))

    def _reduced(self, node: Reduction, body: Estimate) -> Estimate:
        value, axes = self.spread(node, body.value)
        size, error = (self.spread(node, part)[0] for part in (body.size, body.error))
        found = total(node.kind, value, axes)
        if node.kind == "max":
            return Estimate(found, abs(found), np.max(error, axis=axes, keepdims=True, initial=0))
        added = np.sum(size, axis=axes, keepdims=True)
        terms = np.count_nonzero(size, axis=axes, keepdims=True)
        bound = np.sum(error, axis=axes, keepdims=True) + self._once(value, terms * added)
        if node.kind == "sum":
            return Estimate(found, added, bound)
        count = max(value.size // max(found.size, 1), 1)
        mean = added / count
        return Estimate(found, mean, bound / count + self._once(found, mean) + self._lost(found))

    def _multiplied(self, node: Reduction, live: Any) -> Estimate | None:
        """A sum of products whose terms needn't be written out; None: they have to be."""
        product = self.product(node, live)
        if product is None:
            return None
        over, lengths = self.axes(node.letters), self.lengths
        choices = sum(one.choice for one, _ in product)
        parts = [self._factor(one, array, live) for one, array in product]
        found = [part for part, _ in parts]

        def summed(each: Callable[[Estimate], Any], dtype: Any = np.float64) -> Any:
            return contract([np.asarray(each(part)) for part in found], over, lengths, dtype)

        value = summed(lambda one: one.value)
        # (Of what a condition chooses the lengths tell too little.)
        size = _at_most(found, over, lengths) if value.size >= MANY and not choices else None
        if size is None:
            # A bound needs few digits: a product of float32 numbers takes half of the time.
            size = summed(lambda one: one.size, np.float32).astype(np.float64) * SHORT
            if not np.isfinite(size).all():  # such numbers are too large for that
                size = summed(lambda one: one.size)
        if all(relative is not None for _, relative in parts):
            moved = size * (prod(1 + (relative or 0.0) for _, relative in parts) - 1)
        else:
            found = [
                part if relative is None else part._replace(error=relative * part.size)
                for part, relative in parts
            ]
            moved = summed(lambda one: one.size + one.error) - summed(lambda one: one.size)
        terms = count = self.count(node.letters)
        if choices:
            chosen = [array for one, array in product if one.choice]
            terms = contract(chosen, over, lengths, np.float32)  # type: ignore[assignment]
        rounded = (terms + len(parts) - choices) * self.owner.unit * size
        error = moved + rounded + terms * self.owner.least
        if node.kind == "sum":
            return Estimate(value, size, error)
        mean = size / count
        return Estimate(value / count, mean, error / count + self._once(value, mean))

    def _factor(self, one: Factor, array: _AnyArray, live: Any) -> tuple[Estimate, float | None]:
        """A factor, and its relative error, if it is the same for all of it."""
        error = self.owner.errors.get(one.node.name, 0.0) if isinstance(one.node, Entry) else None
        if one.choice or isinstance(error, float):
            relative = error if isinstance(error, float) else 0.0
            return Estimate(array, np.abs(array), 0.0), relative
        found = self.estimate(one.node, live)
        alone = np.size(found.value) == 1 and np.any(found.value)
        return found, float(np.max(found.error / found.size)) if alone else None

    def _once(self, value: Any, size: Any) -> Any:
        """One rounding; whole numbers have none."""
        return self.owner.unit * size if np.asarray(value).dtype.kind == "f" else 0.0 * size

    def _lost(self, value: Any) -> float:
        return self.owner.least if np.asarray(value).dtype.kind == "f" else 0.0


def _at_most(
    parts: Sequence[Estimate], over: Sequence[int], lengths: Sequence[int]
) -> _AnyArray | None:
    """A bound of the sums of the magnitudes of products of two factors, at little cost.

    It is that of Cauchy and Schwarz, the product of both factors' lengths: usually half as much
    again as the sums themselves. None: there are other than two factors, or one isn't summed over.
    """
    if len(parts) != 2:
        return None
    found = []
    for part in parts:
        array = np.asarray(part.value)
        array = array.reshape((1,) * (len(lengths) - array.ndim) + array.shape)
        if any(array.shape[axis] != lengths[axis] for axis in over):
            return None
        squares = np.square(array, dtype=np.float64).sum(axis=tuple(over), keepdims=True)
        found.append(np.sqrt(squares))
    return np.asarray(found[0] * found[1])


def _whole(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "iu"


# How far a function moves, at most, when its argument does, by as much as its error.
_MOVED: dict[str, Callable[[Any, Any], Any]] = {
    "exp": lambda x, error: np.exp(x) * np.expm1(error),
    "log": lambda x, error: -np.log1p(-np.minimum(error / x, 1)),
    "sqrt": lambda x, error: np.sqrt(x) - np.sqrt(np.maximum(x - error, 0)),
    "tanh": lambda x, error: error / np.cosh(np.maximum(abs(x) - error, 0)) ** 2,
    "erf": lambda x, error: 2 / sqrt(pi) * error * np.exp(-(np.maximum(abs(x) - error, 0) ** 2)),
    "sin": lambda x, error: error,
    "cos": lambda x, error: error,
}
