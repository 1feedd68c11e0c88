"""Rotary positions with half-split pairs, compiled."""

import math

import numpy as np

from handformer.axes import Array
from handformer.fast.compiled import compiled, known
from handformer.fast.memory import empty
from handformer.ops import rotary as plain


@compiled
def _turn(x: Array, cos: Array, sin: Array, sign: float, y: Array) -> None:
    """x, y (b, t, h, d_k) from cos, sin (b, t, d_k / 2)."""
    way = x.dtype.type(sign)
    half = cos.shape[2]
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            for h in range(x.shape[2]):
                for p in range(half):
                    c, s = cos[b, t, p], way * sin[b, t, p]
                    first, second = x[b, t, h, p], x[b, t, h, p + half]
                    y[b, t, h, p] = first * c - second * s
                    y[b, t, h, p + half] = second * c + first * s


def forward(x: Array, cos: Array, sin: Array) -> Array:
    """y of the shape of x (..., h, t, d_k) from cos and sin (..., t, d_k / 2), for all heads."""
    return _turned(x, cos, sin, 1.0)


def backward(d_y: Array, cos: Array, sin: Array) -> Array:
    """d_x of the shape of d_y: turned back."""
    return _turned(d_y, cos, sin, -1.0)


def _turned(x: Array, cos: Array, sin: Array, sign: float) -> Array:
    by_place = x.swapaxes(-2, -3)  # (..., t, h, d_k): how a projection's result lies in memory
    if not known(x, cos, sin) or cos.shape[:-1] != by_place.shape[:-2]:
        return plain.forward(x, cos, sin if sign > 0 else -sin)
    n, n_heads, d_k = by_place.shape[-3:]
    batch = math.prod(by_place.shape[:-3])
    shape = (batch, n, n_heads, d_k)
    y = empty(by_place.shape, x.dtype)
    half = (batch, n, d_k // 2)
    cos, sin = np.ascontiguousarray(cos).reshape(half), np.ascontiguousarray(sin).reshape(half)
    _turn(np.ascontiguousarray(by_place).reshape(shape), cos, sin, sign, y.reshape(shape))
    return y.swapaxes(-2, -3)
