"""ALiBi: no position code, but a penalty on scores that grows with distance, a slope a head.

Forward    the last query stands beside the last key, so query t is at place t + n_keys - n_queries,
           and a key s is that much minus s behind it. For a power of two of heads the slopes are a
           geometric series that ends at 2^-8. Other counts take the series of the greatest power of
           two below, then every second slope of the series for twice that power.
Backward   none: the slopes are fixed.
Delicate   a key later than the query would get a bonus; the causal mask hides it.
Source     Press, Smith, Lewis 2022, section 3, and the authors' code for other counts of heads.
"""

from typing import Any, NamedTuple

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    power      := max(h, where(2 ** h <= n_heads, 2 ** h, 1))
    slope[h]    = where(h < power, 2 ** (-8 * (h + 1) / power),
        2 ** (-4 * (2 * (h - power) + 1) / power))
    bias[h,t,s] = -slope[h] * (t + n_keys - n_queries - s)
""")


class Forward(NamedTuple):
    """slope (h) and bias (h, t, s)."""

    slope: Array
    bias: Array


def forward(n_queries: int, n_keys: int, n_heads: int, dtype: Any) -> Forward:
    """The slopes of n_heads heads, and what is added to the scores of n_queries over n_keys."""
    power = 1 << (n_heads.bit_length() - 1)
    head = np.arange(n_heads)
    series = 2.0 ** (-8 * (head + 1) / power)
    between = 2.0 ** (-4 * (2 * (head - power) + 1) / power)
    slope = np.where(head < power, series, between)
    behind = np.arange(n_queries)[:, None] + n_keys - n_queries - np.arange(n_keys)
    return Forward(slope.astype(dtype), (-slope[:, None, None] * behind).astype(dtype))
