"""Sinusoidal positions: a fixed vector for each, a sine and a cosine at every one of many speeds.

Forward    channels 2p and 2p+1 share one angle, position / base^(2p/d_model), and hold its sine and
           its cosine. The speeds fall from 1 to about 1/base, as the digits of a number do. A step
           of k turns each pair by a fixed angle, so the code of a position k later is a linear map
           of this one.
Backward   none: there is nothing to learn.
Delicate   angles are formed in float64 and the result is rounded once: float32 angles lose their
           fraction as positions grow.
Source     Vaswani et al. 2017, section 3.5.
"""

from typing import Any

import numpy as np

from handformer.axes import Array, IntArray
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    angle[b,i] := positions[b] / base ** (2 * (i // 2) / d_model)
    y[b,i]      = where(i % 2 == 0, sin(angle[b,i]), cos(angle[b,i]))
""")


def forward(positions: IntArray, d_model: int, base: float, dtype: Any) -> Array:
    """y of shape (..., d_model) from whole positions (...), counted from 0."""
    pairs = np.arange((d_model + 1) // 2)
    angle = positions[..., None] / base ** (2 * pairs / d_model)
    y = np.empty((*positions.shape, d_model), dtype)
    y[..., 0::2] = np.sin(angle)
    y[..., 1::2] = np.cos(angle[..., : d_model // 2])  # an odd width ends with a sine
    return y
