"""What rounding explains: how far a computed entry may be from its formula and nothing be wrong.

A running error analysis: beside its value every part of a formula carries a bound of its error.
The stored numbers that it starts from are taken as exact. With u the relative error of a rounding:

    number, setting   u |x| unless it is whole: it was rounded when it came into the array's type
    a + b, a - b      errors add up, and u times the magnitude
    sum of n terms    errors add up, and n u times the magnitude: whatever the order, no term goes
                      through more than n - 1 additions (n, to take in what is of second order); a
                      term that is exactly 0 doesn't count
    a * b             |a| error(b) + |b| error(a) + error(a) error(b), and u times the magnitude
    a / b             (error(a) + |a / b| error(b)) / (|b| - error(b)), and u times the magnitude
    f(a), a ** b      how far the function moves when a moves by its error, and 4 u times the
                      result, which good libraries keep to
    max, where        the greatest error of what there is to choose from; that of what was chosen
    // % < == and     exact: index arithmetic and conditions

The *magnitude* of a part is its value with the terms of all its sums taken without their signs,
sums that are multiplied or divided among them: a * (b - c) has |a| (|b| + |c|). So the bound holds
in whatever order a program adds, and whether it multiplies out or not: the formula prescribes
neither. A function, a power and a maximum start anew from their result.

A float64 evaluation of the formula rounds as well, so u is the sum of both sides' roundings. Every
product, quotient and function may also lose what lies below the smallest normal number.

Source     Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002: section 2.2 (the
           model, with underflow), 3.1 and 3.3 (inner products, running error), 4.2 (sums).
"""

from collections.abc import Callable
from math import pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from handformer.formula.arithmetic import CONSTANTS, FUNCTIONS, OPERATORS, total
from handformer.formula.chain import FUNCTION, roundings
from handformer.formula.evaluate import Frame
from handformer.formula.expression import Call, Negative, Node, Number, Operation, Reduction, Scalar
from handformer.formula.located import Located

__all__ = ["rounding", "roundings"]

_AnyArray = NDArray[Any]


class Estimate(NamedTuple):
    """A value, its magnitude, and the bound of its error."""

    value: Any
    size: Any
    error: Any


def rounding(located: Located, dtype: Any) -> float:
    """The greatest difference that rounding explains between an entry of `dtype` and its formula.

    0 where the entry is a whole number or a truth value.
    """
    if not np.issubdtype(dtype, np.floating):
        return 0.0
    with np.errstate(all="ignore"):  # `where` evaluates both sides
        frame = _Bounded(located, np.dtype(dtype))
        return float(np.max(frame.estimate(frame.formula.body, True).error))


class _Bounded(Frame):
    """A formula under evaluation, whose parts carry their bounds with them."""

    def __init__(self, located: Located, dtype: Any) -> None:
        formula = located.written_out(located.body, ())
        super().__init__(located.evaluation, formula, {}, located.sizes)
        self.unit = float(np.finfo(dtype).eps + np.finfo(np.float64).eps) / 2
        self.least = float(np.finfo(dtype).tiny)

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
            case Reduction():
                return self._reduced(node, self.estimate(node.body, live))
        value = np.asarray(self.read(node, live))
        setting = isinstance(node, Scalar) and node.name in {*CONSTANTS, *self.owner.scalars}
        written = (setting or isinstance(node, Number)) and value.dtype.kind == "f"
        inexact = written & (value != np.round(value)) & np.isfinite(value)
        return Estimate(value, np.abs(value), np.where(inexact, self.unit * np.abs(value), 0.0))

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
        own = FUNCTION * self.unit * np.where(np.isfinite(value), abs(value) + error, 0.0)
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

    def _once(self, value: Any, size: Any) -> Any:
        """One rounding; whole numbers have none."""
        return self.unit * size if np.asarray(value).dtype.kind == "f" else 0.0 * size

    def _lost(self, value: Any) -> float:
        return self.least if np.asarray(value).dtype.kind == "f" else 0.0


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
