"""The turns of rotary positions: cosine and sine of an angle for each position and pair of
channels.

Forward    pair p of a head turns by position / base^(2p/d_k): the first pair by one radian a
           position, the last by hardly anything. Both ways of pairing channels (`rotary`,
           `rotary_interleaved`) use the same angles.
Backward   none: there is nothing to learn.
Delicate   angles are formed in float64 and rounded once, after cosine and sine: rounded before,
           they'd lose their fraction as positions grow. The exponent's divisor is the head's width,
           not the model's.
Source     Su et al. 2021 (RoFormer), section 3.2.2, equation 15.
"""

from typing import Any, NamedTuple

import numpy as np

from handformer.axes import Array, IntArray
from handformer.errors import InputError
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    cos[b,t,p] = cos(positions[b,t] / base ** (2 * p / d_k))
    sin[b,t,p] = sin(positions[b,t] / base ** (2 * p / d_k))
""")


class Forward(NamedTuple):
    """cos and sin (..., t, d_k / 2)."""

    cos: Array
    sin: Array


def forward(positions: IntArray, d_k: int, base: float, dtype: Any) -> Forward:
    """The turns for whole positions (..., t), counted from 0, and heads of even width d_k.

    Raises
    ------
    InputError
        for an odd d_k: one channel would have no partner
    """
    if d_k % 2:
        raise InputError(
            f"d_k is {d_k}, expected an even number: rotary positions turn pairs of channels"
        )
    pairs = np.arange(d_k // 2)
    angle = positions[..., None] / base ** (2 * pairs / d_k)
    return Forward(np.cos(angle).astype(dtype), np.sin(angle).astype(dtype))
