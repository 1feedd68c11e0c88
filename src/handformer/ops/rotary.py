"""Rotary positions, half-split pairs: channels c and c + d_k/2 of a head turn together.

Forward    each pair is a point in the plane and is turned by its position's angle. The product of a
           query turned by a and a key turned by b is that of the unturned ones turned by a - b:
           scores depend on how far apart two tokens stand, not on where.
Backward   a rotation's transpose is the rotation by minus the angle.
Kept       cos and sin: the map is linear in x.
Delicate   weights are trained for one way of pairing; the other way keeps every norm and gives
           other scores.
Source     Su et al. 2021 (RoFormer), section 3.4.2; the half-split pairs are those of GPT-NeoX and
           Llama in the layout of Hugging Face.
"""

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    y[b,h,t,c]   = x[b,h,t,c] * cos[b,t,c % (d_k // 2)]
        + where(c < d_k // 2, -1, 1) * x[b,h,t,(c + d_k // 2) % d_k] * sin[b,t,c % (d_k // 2)]
    d_x[b,h,t,c] = d_y[b,h,t,c] * cos[b,t,c % (d_k // 2)]
        + where(c < d_k // 2, 1, -1) * d_y[b,h,t,(c + d_k // 2) % d_k] * sin[b,t,c % (d_k // 2)]
""")


def forward(x: Array, cos: Array, sin: Array) -> Array:
    """y of the shape of x (..., h, t, d_k) from cos and sin (..., t, d_k / 2), for all heads."""
    cos, sin = cos[..., None, :, :], sin[..., None, :, :]
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1)


def backward(d_y: Array, cos: Array, sin: Array) -> Array:
    """d_x of the shape of d_y: turned back."""
    return forward(d_y, cos, -sin)
