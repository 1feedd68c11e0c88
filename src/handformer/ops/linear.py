"""A linear map: every row of x through one matrix, and a bias where the model has one.

Forward    y = x w + bias; weights are (in, out).
Backward   each y_j is a weighted sum of the x_i, so d_x sends d_y back through the transposed
           matrix. The weights are shared by all rows: their gradients add up over every leading
           axis.
Kept       x (and w): the derivative of a product is the other factor.
Delicate   weights may be kept in 16 bits, to halve what is read: they are widened to x's dtype
           before the product, so y, and every gradient, has the dtype of x.
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


def widened(w: Array, x: Array) -> Array:
    """Weights of 16 bits in the dtype of x, which they are multiplied with; others as they are."""
    return w.astype(x.dtype, copy=False) if w.itemsize < 4 else w


def forward(x: Array, w: Array, bias: Array | None) -> Array:
    """y of shape (..., out) from x (..., in), w (in, out), bias (out) or None."""
    y = x @ widened(w, x)
    return y if bias is None else y + bias


def backward(d_y: Array, x: Array, w: Array, bias: Array | None) -> Backward:
    """Gradients of x, w and bias from d_y (..., out)."""
    rows_x, rows_d_y = x.reshape(-1, x.shape[-1]), d_y.reshape(-1, d_y.shape[-1])
    return Backward(
        d_x=d_y @ widened(w, x).T,
        d_w=rows_x.T @ rows_d_y,
        d_bias=None if bias is None else rows_d_y.sum(axis=0),
    )
