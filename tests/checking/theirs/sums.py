"""Matrix products whose sums are taken in other orders: right ones, all of them."""

from typing import Any

import numpy as np

WAYS = ("SUM:einsum", "SUM:loop", "SUM:reversed", "SUM:blocks", "SUM:pairs", "SUM:double")


def product(a: Any, b: Any, way: str = "") -> Any:
    """a (..., n, k) by b (..., k, m)."""
    if way == "SUM:einsum":
        return np.einsum("...nk,...km->...nm", a, b)
    if way == "SUM:loop":
        return _in_turn(a, b, range(a.shape[-1]))
    if way == "SUM:reversed":
        return _in_turn(a, b, reversed(range(a.shape[-1])))
    if way == "SUM:blocks":
        parts = range(0, a.shape[-1], 4)
        return sum(a[..., n : n + 4] @ b[..., n : n + 4, :] for n in parts)
    if way == "SUM:pairs":
        return _in_pairs([a[..., n, None] * b[..., n, None, :] for n in range(a.shape[-1])])
    if way == "SUM:double":
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)
    return a @ b


def _in_turn(a: Any, b: Any, order: Any) -> Any:
    total: Any = 0
    for n in order:
        total = total + a[..., n, None] * b[..., n, None, :]
    return total


def _in_pairs(terms: list[Any]) -> Any:
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _in_pairs(terms[:half]) + _in_pairs(terms[half:])
