"""Softmax over the last axis, compiled."""

from handformer.axes import Array
from handformer.fast.compiled import alike, compiled, empty_like, rows
from handformer.ops import softmax as plain


@compiled
def _backward(d_y: Array, y: Array, d_x: Array) -> None:
    for row in range(y.shape[0]):
        along = y.dtype.type(0)
        for j in range(y.shape[1]):
            along += d_y[row, j] * y[row, j]
        for j in range(y.shape[1]):
            d_x[row, j] = y[row, j] * (d_y[row, j] - along)


forward = plain.forward


def backward(d_y: Array, y: Array) -> Array:
    """d_x of the shape of y; each row sums to zero."""
    if not alike(d_y, y):
        return plain.backward(d_y, y)
    d_x = empty_like(y)
    _backward(rows(d_y), rows(y), rows(d_x))
    return d_x
