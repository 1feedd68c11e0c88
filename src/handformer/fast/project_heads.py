"""Project and split into heads, compiled: the split is a view."""

from handformer.axes import Array
from handformer.fast import linear
from handformer.ops.linear import Backward
from handformer.ops.project_heads import join, split


def forward(x: Array, w: Array, bias: Array | None, n_heads: int) -> Array:
    """y (..., h, t, d_k) from x (..., t, d_model), w (d_model, h * d_k), bias (h * d_k) or None."""
    return split(linear.forward(x, w, bias), n_heads)


def backward(d_y: Array, x: Array, w: Array, bias: Array | None) -> Backward:
    """Gradients of x, w and bias from d_y (..., h, t, d_k)."""
    return linear.backward(join(d_y), x, w, bias)
