"""Rotary positions, interleaved pairs: channels 2p and 2p + 1 of a head turn together.

Forward    each pair is a point in the plane and is turned by its position's angle (see `rotary`).
Backward   a rotation's transpose is the rotation by minus the angle.
Kept       cos and sin: the map is linear in x.
Delicate   the pairs are written back where they were read: even and odd places, not two halves.
Source     Su et al. 2021 (RoFormer), equations 15 and 34.
"""

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    y[b,h,t,c]   = x[b,h,t,c] * cos[b,t,c // 2]
        + where(c % 2 == 0, -1, 1) * x[b,h,t,c + 1 - 2 * (c % 2)] * sin[b,t,c // 2]
    d_x[b,h,t,c] = d_y[b,h,t,c] * cos[b,t,c // 2]
        + where(c % 2 == 0, 1, -1) * d_y[b,h,t,c + 1 - 2 * (c % 2)] * sin[b,t,c // 2]
""")


def forward(x: Array, cos: Array, sin: Array) -> Array:
    """y of the shape of x (..., h, t, d_k) from cos and sin (..., t, d_k / 2), for all heads."""
    cos, sin = cos[..., None, :, :], sin[..., None, :, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack((even * cos - odd * sin, odd * cos + even * sin), axis=-1).reshape(x.shape)


def backward(d_y: Array, cos: Array, sin: Array) -> Array:
    """d_x of the shape of d_y: turned back."""
    return forward(d_y, cos, -sin)
