"""A linear map: every row of x through one matrix, and a bias where the model has one.

Forward    y = x w + bias; weights are (in, out).
Backward   each y_j is a weighted sum of the x_i, so d_x sends d_y back through the transposed
           matrix. The weights are shared by all rows: their gradients add up over every leading
           axis.
Kept       x (and w): the derivative of a product is the other factor.
Source     Goodfellow, Bengio, Courville 2016, section 6.5.6.
"""

from typing import NamedTuple

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    y[b,j]    = sum(i, x[b,i] * w[i,j]) + bias[j]
    d_x[b,i]  = sum(j, d_y[b,j] * w[i,j])
    d_w[i,j]  = sum(b, x[b,i] * d_y[b,j])
    d_bias[j] = sum(b, d_y[b,j])
""")


class Backward(NamedTuple):
    """Gradients: d_x (..., in), d_w (in, out), d_bias (out), None where there is no bias."""

    d_x: Array
    d_w: Array
    d_bias: Array | None


def forward(x: Array, w: Array, bias: Array | None) -> Array:
    """y of shape (..., out) from x (..., in), w (in, out), bias (out) or None."""
    y = x @ w
    return y if bias is None else y + bias


def backward(d_y: Array, x: Array, w: Array, bias: Array | None) -> Backward:
    """Gradients of x, w and bias from d_y (..., out)."""
    rows_x, rows_d_y = x.reshape(-1, x.shape[-1]), d_y.reshape(-1, d_y.shape[-1])
    return Backward(
        d_x=d_y @ w.T,
        d_w=rows_x.T @ rows_d_y,
        d_bias=None if bias is None else rows_d_y.sum(axis=0),
    )
