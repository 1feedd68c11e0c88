"""Project and split into heads: one linear map whose columns belong to the heads in turn.

Forward    y = x w + bias; head h owns the columns h*d_k to h*d_k + d_k - 1. The head axis is taken
           out of the width first and then moved before the positions: (t, h, c), then (h, t, c).
           Reshaped straight to (h, t, c), the heads would share out the tokens, not the width.
Backward   the heads' gradients stand side by side again; the rest is that of the linear map.
Kept       x (and w).
Source     Vaswani et al. 2017, section 3.2.2.
"""

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.ops import linear
from handformer.ops.linear import Backward

FORMULAS = Sheet.parse("""
    y[b,h,t,c] = sum(i, x[b,t,i] * w[i,h*d_k + c]) + bias[h*d_k + c]
    d_x[b,t,i] = sum(h, c, d_y[b,h,t,c] * w[i,h*d_k + c])
    d_w[i,j]   = sum(b, t, x[b,t,i] * d_y[b,j // d_k,t,j % d_k])
    d_bias[j]  = sum(b, t, d_y[b,j // d_k,t,j % d_k])
""")


def split(rows: Array, n_heads: int) -> Array:
    """(..., t, n_heads * d_k) as (..., n_heads, t, d_k): a view."""
    return rows.reshape(*rows.shape[:-1], n_heads, rows.shape[-1] // n_heads).swapaxes(-2, -3)


def join(heads: Array) -> Array:
    """(..., h, t, d_k) as (..., t, h * d_k): `split` undone."""
    heads = heads.swapaxes(-2, -3)
    return heads.reshape(*heads.shape[:-2], heads.shape[-2] * heads.shape[-1])


def forward(x: Array, w: Array, bias: Array | None, n_heads: int) -> Array:
    """y (..., h, t, d_k) from x (..., t, d_model), w (d_model, h * d_k), bias (h * d_k) or None."""
    return split(linear.forward(x, w, bias), n_heads)


def backward(d_y: Array, x: Array, w: Array, bias: Array | None) -> Backward:
    """Gradients of x, w and bias from d_y (..., h, t, d_k)."""
    return linear.backward(join(d_y), x, w, bias)
