"""What the operators, functions and constants of the language do with numbers and arrays."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _erf(part: Any) -> Any:
    from scipy.special import erf  # noqa: PLC0415 (SciPy loads slowly: no start waits for it)

    return erf(part)


CONSTANTS = {"pi": math.pi, "inf": math.inf}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "erf": _erf, "sin": np.sin,
    "cos": np.cos,
}  # fmt: skip


def counted(part: Any) -> Any:
    """Truth values as the numbers 0 and 1: NumPy would take their sum for `or`."""
    array = np.asarray(part)
    return array.astype(np.int64) if array.dtype == bool else part


def _power(base: Any, exponent: Any) -> Any:
    """A power; of whole numbers too, where NumPy refuses negative exponents."""
    whole = np.asarray(base).dtype.kind == "i" and np.asarray(exponent).dtype.kind == "i"
    return np.power(np.asarray(base, np.float64) if whole else base, exponent)


def _numbers(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: operation(counted(left), counted(right))


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": _numbers(np.add), "-": _numbers(np.subtract), "*": _numbers(np.multiply),
    "/": _numbers(np.true_divide), "//": _numbers(np.floor_divide), "%": _numbers(np.mod),
    "**": _numbers(_power), "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal, "and": np.logical_and,
    "or": np.logical_or,
}  # fmt: skip


def total(kind: str, parts: Any, axis: tuple[int, ...] | None = None) -> Any:
    """The sum, maximum or mean over some axes, which stay with length 1, or of all parts.

    Of nothing, they are 0, minus infinity and NaN.
    """
    array = np.asarray(parts)
    keep = axis is not None
    count = array.size if axis is None else math.prod(array.shape[place] for place in axis)
    if kind == "max" and count:
        return np.max(array, axis=axis, keepdims=keep)
    found = np.sum(counted(array), axis=axis, keepdims=keep)
    if kind == "max":
        return found - np.inf
    return found / count if kind == "mean" else found
