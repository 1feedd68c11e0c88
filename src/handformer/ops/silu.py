"""The sigmoid linear unit, also called swish: x times its own sigmoid.

Forward    y = x sigma with sigma = 1 / (1 + exp(-x)).
Backward   a product: sigma + x sigma (1 - sigma), since the sigmoid's slope is sigma (1 - sigma).
Kept       x.
Delicate   exp(-x) overflows for very negative x; see `sigmoid`.
Source     Elfwing, Uchibe, Doya 2017, section 2; Ramachandran, Zoph, Le 2017 (swish, beta = 1).
"""

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    sigma[b] := 1 / (1 + exp(-x[b]))
    y[b]      = x[b] * sigma[b]
    d_x[b]    = d_y[b] * sigma[b] * (1 + x[b] * (1 - sigma[b]))
""")


def forward(x: Array) -> Array:
    """y of the shape of x, entry by entry."""
    return x * sigmoid(x)


def backward(d_y: Array, x: Array) -> Array:
    """d_x of the shape of x."""
    sigma = sigmoid(x)
    return d_y * sigma * (x * (1 - sigma) + 1)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), entry by entry, for any finite x."""
    # Where exp overflows to infinity, 1 / (1 + infinity) = 0 is the right result, not an accident.
    with np.errstate(over="ignore"):
        sigma: Array = 1 / (1 + np.exp(-x))
    return sigma
