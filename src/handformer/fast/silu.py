"""The sigmoid linear unit, compiled."""

from typing import Any

from handformer.axes import Array
from handformer.fast.compiled import alike, compiled, empty_like, flat, known, part
from handformer.fast.exponential import exp
from handformer.ops import silu as plain


@part
def sigmoid(x: Any, one: Any) -> Any:
    """1 / (1 + exp(-x)) inside kernels; `one` is 1 in x's type."""
    return one / (one + exp(-x))


@compiled
def _forward(x: Array, y: Array) -> None:
    one = x.dtype.type(1)
    for at in range(x.size):
        y[at] = x[at] * sigmoid(x[at], one)


@compiled
def _backward(d_y: Array, x: Array, d_x: Array) -> None:
    one = x.dtype.type(1)
    for at in range(x.size):
        sigma = sigmoid(x[at], one)
        d_x[at] = d_y[at] * sigma * (x[at] * (one - sigma) + one)


def forward(x: Array) -> Array:
    """y of the shape of x, entry by entry."""
    if not known(x):
        return plain.forward(x)
    y = empty_like(x)
    _forward(flat(x), flat(y))
    return y


def backward(d_y: Array, x: Array) -> Array:
    """d_x of the shape of x."""
    if not alike(d_y, x):
        return plain.backward(d_y, x)
    d_x = empty_like(x)
    _backward(flat(d_y), flat(x), flat(d_x))
    return d_x
