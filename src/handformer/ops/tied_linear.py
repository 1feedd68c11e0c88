"""A linear map through the rows of a table: each output is x's product with one row.

It is `linear` with the table's transpose for a matrix: the form in which an embedding's table
serves a second time as the model's last map.

Forward    y = x table^T + bias; the table is (out, in).
Backward   as in `linear`, with the table's axes exchanged.
Kept       x (and the table).
Source     Press and Wolf 2017, "Using the output embedding to improve language models".
"""

from typing import NamedTuple

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.ops import linear

FORMULAS = Sheet.parse("""
    y[b,n]       = sum(i, x[b,i] * table[n,i]) + bias[n]
    d_x[b,i]     = sum(n, d_y[b,n] * table[n,i])
    d_table[n,i] = sum(b, x[b,i] * d_y[b,n])
    d_bias[n]    = sum(b, d_y[b,n])
""")


class Backward(NamedTuple):
    """Gradients: d_x (..., in), d_table (out, in), d_bias (out), None where there is no bias."""

    d_x: Array
    d_table: Array
    d_bias: Array | None


def forward(x: Array, table: Array, bias: Array | None) -> Array:
    """y of shape (..., out) from x (..., in), table (out, in), bias (out) or None."""
    return linear.forward(x, table.T, bias)


def backward(d_y: Array, x: Array, table: Array, bias: Array | None) -> Backward:
    """Gradients of x, table and bias from d_y (..., out)."""
    rows_x, rows_d_y = x.reshape(-1, x.shape[-1]), d_y.reshape(-1, d_y.shape[-1])
    d_bias = None if bias is None else rows_d_y.sum(axis=0)
    return Backward(d_x=d_y @ linear.widened(table, x), d_table=rows_d_y.T @ rows_x, d_bias=d_bias)
