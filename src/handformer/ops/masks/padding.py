"""Padding mask: no query sees a key that isn't a real token.

Forward    the same keys are hidden from every query, so it is a view of `valid` without a copy.
           Only keys are hidden: what a padded query computes is nobody's input.
Source     Devlin et al. 2019 (the attention mask of BERT).
"""

import numpy as np

from handformer.axes import BoolArray
from handformer.formula import Sheet

FORMULAS = Sheet.parse("mask[b,t,s] = valid[b,s]")


def forward(valid: BoolArray, n_queries: int) -> BoolArray:
    """mask (..., n_queries, s), read-only, from valid (..., s), true at real tokens."""
    return np.broadcast_to(valid[..., None, :], (*valid.shape[:-1], n_queries, valid.shape[-1]))
