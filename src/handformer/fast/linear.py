"""A linear map, compiled: a product of matrices that begins with the bias."""

from handformer.axes import Array
from handformer.fast import row_product
from handformer.fast.compiled import compiled, known, rows
from handformer.fast.matmul import matmul
from handformer.fast.memory import empty
from handformer.ops import linear as plain
from handformer.ops.linear import Backward

__all__ = ["Backward", "backward", "forward"]


@compiled
def _sum_rows(x: Array, total: Array) -> None:
    total[:] = x.dtype.type(0)
    for row in range(x.shape[0]):
        for j in range(x.shape[1]):
            total[j] += x[row, j]


def forward(x: Array, w: Array, bias: Array | None) -> Array:
    """y of shape (..., out) from x (..., in), w (in, out), bias (out) or None."""
    few = row_product.forward(x, w, bias)
    if few is not None:
        return few
    w = plain.widened(w, x)
    if not known(x, w, bias):
        return plain.forward(x, w, bias)
    y = empty((*x.shape[:-1], w.shape[1]), x.dtype)
    matmul(rows(x), w, rows(y), plus=bias)
    return y


def backward(d_y: Array, x: Array, w: Array, bias: Array | None) -> Backward:
    """Gradients of x, w and bias from d_y (..., out)."""
    if not known(d_y, x, w, bias):
        return plain.backward(d_y, x, w, bias)
    rows_x, rows_d_y = rows(x), rows(d_y)
    d_x, d_w = empty(x.shape, x.dtype), empty(w.shape, w.dtype)
    matmul(rows_d_y, w.T, rows(d_x))
    matmul(rows_x.T, rows_d_y, d_w)
    return Backward(d_x, d_w, None if bias is None else sum_rows(rows_d_y))


def sum_rows(x: Array) -> Array:
    """The sum (width) of the rows of x (n, width)."""
    total = empty(x.shape[1:], x.dtype)
    _sum_rows(x, total)
    return total
