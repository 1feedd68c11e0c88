"""Softmax over the last axis: positive weights that sum to one.

Forward    the row's maximum is taken out first, so that exp cannot overflow; the result doesn't
           change, since exp(x - m) / sum exp(x - m) cancels exp(-m).
Backward   each output depends on every input of its row: dy_i/dx_j = y_i (delta_ij - y_j). Summed
           against d_y, d_x_j = y_j (d_y_j - sum_i d_y_i y_i): one number a row, no Jacobian.
Kept       y alone: the Jacobian is a function of the output.
Source     Goodfellow, Bengio, Courville 2016, section 6.2.2.3.
"""

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    top[b]   := max(i, x[b,i])
    total[b] := sum(i, exp(x[b,i] - top[b]))
    y[b,j]    = exp(x[b,j] - top[b]) / total[b]
    d_x[b,j]  = y[b,j] * (d_y[b,j] - sum(i, d_y[b,i] * y[b,i]))
""")


def forward(x: Array) -> Array:
    """y of the shape of x (..., n): each row positive, summing to one."""
    e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    y: Array = e / e.sum(axis=-1, keepdims=True)
    return y


def backward(d_y: Array, y: Array) -> Array:
    """d_x of the shape of y; each row sums to zero."""
    d_x: Array = y * (d_y - (d_y * y).sum(axis=-1, keepdims=True))
    return d_x
