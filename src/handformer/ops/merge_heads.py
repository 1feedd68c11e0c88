"""Merge the heads: set side by side, then mixed by one linear map back to the model's width.

Forward    position t of every head together is one row of length h*d_k (the heads are moved behind
           the positions first: reshaped as they are, a row would hold one head at several
           positions). Then y = row w + bias.
Backward   that of the linear map; d_x is cut back into heads.
Kept       x (and w).
Source     Vaswani et al. 2017, section 3.2.2.
"""

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.ops import linear
from handformer.ops.linear import Backward
from handformer.ops.project_heads import join, split

FORMULAS = Sheet.parse("""
    y[b,t,j]     = sum(h, c, x[b,h,t,c] * w[h*d_k + c,j]) + bias[j]
    d_x[b,h,t,c] = sum(j, d_y[b,t,j] * w[h*d_k + c,j])
    d_w[i,j]     = sum(b, t, x[b,i // d_k,t,i % d_k] * d_y[b,t,j])
    d_bias[j]    = sum(b, t, d_y[b,t,j])
""")


def forward(x: Array, w: Array, bias: Array | None) -> Array:
    """y (..., t, d_model) from x (..., h, t, d_k), w (h * d_k, d_model), bias (d_model) or None."""
    return linear.forward(join(x), w, bias)


def backward(d_y: Array, x: Array, w: Array, bias: Array | None) -> Backward:
    """Gradients of x, w and bias from d_y (..., t, d_model)."""
    back = linear.backward(d_y, join(x), w, bias)
    return back._replace(d_x=split(back.d_x, n_heads=x.shape[-3]))
