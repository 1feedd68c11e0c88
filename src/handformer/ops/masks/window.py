"""Sliding window: a query sees itself and the keys just before it, `width` in all.

Forward    a band under the causal diagonal. The query's own place counts: width 1 is itself alone.
           (Descriptions differ by one here, and in whether the window looks ahead: this one does
           not.)
Source     Jiang et al. 2023 (Mistral 7B), figure 1; the idea, two-sided: Beltagy, Peters, Cohan
           2020 (Longformer), section 3.1.
"""

import numpy as np

from handformer.axes import BoolArray
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    own[t]   := t + n_keys - n_queries
    mask[t,s] = s <= own[t] and s > own[t] - width
""")


def forward(n_queries: int, n_keys: int, width: int) -> BoolArray:
    """mask (n_queries, n_keys)."""
    own = n_keys - n_queries  # the place of the first query
    upto, before = (np.tri(n_queries, n_keys, k, dtype=np.bool_) for k in (own, own - width))
    return upto & ~before
