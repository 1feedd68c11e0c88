"""Merge the heads, compiled."""

from handformer.axes import Array
from handformer.fast import linear
from handformer.ops.linear import Backward
from handformer.ops.project_heads import join, split


def forward(x: Array, w: Array, bias: Array | None) -> Array:
    """y (..., t, d_model) from x (..., h, t, d_k), w (h * d_k, d_model), bias (d_model) or None."""
    return linear.forward(join(x), w, bias)


def backward(d_y: Array, x: Array, w: Array, bias: Array | None) -> Backward:
    """Gradients of x, w and bias from d_y (..., t, d_model)."""
    back = linear.backward(d_y, join(x), w, bias)
    return back._replace(d_x=split(back.d_x, n_heads=x.shape[-3]))
