"""Dropout: in training, each entry is zeroed with a given chance, and the rest made larger.

Forward    a kept entry is divided by 1 - rate, so that the mean over many draws is x itself, and
           nothing has to be rescaled when the dropout is off.
Backward   the same mask and the same factor: y is linear in x.
Kept       keep, the mask: a second draw would be another function.
Source     Srivastava et al. 2014, section 4 and (for the scaling while training) section 10.
"""

import numpy as np

from handformer.axes import Array, BoolArray
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    y[b]   = where(keep[b], x[b] / (1 - rate), 0)
    d_x[b] = where(keep[b], d_y[b] / (1 - rate), 0)
""")


def forward(x: Array, keep: BoolArray, rate: float) -> Array:
    """y of the shape of x; keep, broadcast against x, is true where an entry stays.

    At rate 0 keep is true everywhere, and x itself is returned.
    """
    if rate == 0:
        return x
    return np.where(keep, x * (1 / (1 - rate)), 0)


def backward(d_y: Array, keep: BoolArray, rate: float) -> Array:
    """d_x of the shape of d_y."""
    return forward(d_y, keep, rate)
