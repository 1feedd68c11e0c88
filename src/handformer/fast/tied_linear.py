"""A linear map through the rows of a table, compiled."""

from handformer.axes import Array
from handformer.fast import linear
from handformer.fast.compiled import known, rows
from handformer.fast.linear import sum_rows
from handformer.fast.matmul import matmul
from handformer.fast.memory import empty
from handformer.ops import tied_linear as plain
from handformer.ops.tied_linear import Backward


def forward(x: Array, table: Array, bias: Array | None) -> Array:
    """y of shape (..., out) from x (..., in), table (out, in), bias (out) or None."""
    return linear.forward(x, table.T, bias)


def backward(d_y: Array, x: Array, table: Array, bias: Array | None) -> Backward:
    """Gradients of x, table and bias from d_y (..., out)."""
    if not known(d_y, x, table, bias):
        return plain.backward(d_y, x, table, bias)
    rows_x, rows_d_y = rows(x), rows(d_y)
    d_x, d_table = empty(x.shape, x.dtype), empty(table.shape, table.dtype)
    matmul(rows_d_y, table, rows(d_x))
    matmul(rows_d_y.T, rows_x, d_table)
    return Backward(d_x, d_table, None if bias is None else sum_rows(rows_d_y))
