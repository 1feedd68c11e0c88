"""Causal mask: a query sees the keys up to its own place, none later.

Forward    the last query stands beside the last key, so query t is at place t + n_keys - n_queries:
           with keys from a cache, or a prompt fed in pieces, the triangle ends in the lower right
           corner.
Source     Vaswani et al. 2017, section 3.2.3.
"""

import numpy as np

from handformer.axes import BoolArray
from handformer.formula import Sheet

FORMULAS = Sheet.parse("mask[t,s] = s <= t + n_keys - n_queries")


def forward(n_queries: int, n_keys: int) -> BoolArray:
    """mask (n_queries, n_keys)."""
    return np.tri(n_queries, n_keys, n_keys - n_queries, dtype=np.bool_)
