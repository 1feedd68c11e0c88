"""Softmax over the visible entries of each row; hidden entries are exactly 0.

Forward    hidden entries are -inf, so they take no part in the row's maximum and exp makes them 0.
           A row with no visible entry has nothing to normalise: it stays 0 (never 0/0).
Backward   that of softmax: a hidden entry has y = 0, so its gradient is 0, and so is an empty
           row's.
Kept       y alone.
Delicate   -inf - (-inf) is NaN: an empty row's maximum is taken as 0.
Source     Vaswani et al. 2017, section 3.2.3 (the mask: illegal connections set to -inf).
"""

import numpy as np

from handformer.axes import Array, BoolArray
from handformer.formula import Sheet
from handformer.ops import softmax

FORMULAS = Sheet.parse("""
    top[b]   := max(i, where(mask[b,i], x[b,i], -inf))
    total[b] := sum(i, where(mask[b,i], exp(x[b,i] - top[b]), 0))
    y[b,j]    = where(mask[b,j], exp(x[b,j] - top[b]) / total[b], 0)
""") + softmax.FORMULAS.only("d_x")  # fmt: skip


def forward(x: Array, mask: BoolArray) -> Array:
    """y of the shape of x (..., n); mask, broadcast against x, is true where one is visible."""
    visible = np.where(mask, x, -np.inf)
    top = visible.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(visible - np.where(top == -np.inf, 0, top))
    total = e.sum(axis=-1, keepdims=True)
    y: Array = e / np.where(total == 0, 1, total)
    return y


backward = softmax.backward
