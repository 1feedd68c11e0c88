"""The rectifier: what is positive passes, the rest becomes 0.

Forward    y = max(x, 0), entry by entry.
Backward   the slope is 1 where x is positive and 0 elsewhere; at 0 itself there is none: we take 0.
Kept       x.
Source     Nair, Hinton 2010; Vaswani et al. 2017, equation 2.
"""

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    y[b]   = where(x[b] > 0, x[b], 0)
    d_x[b] = where(x[b] > 0, d_y[b], 0)
""")


def forward(x: Array) -> Array:
    """y of the shape of x, entry by entry."""
    y: Array = np.maximum(x, 0)
    return y


def backward(d_y: Array, x: Array) -> Array:
    """d_x of the shape of x."""
    return np.where(x > 0, d_y, 0)
