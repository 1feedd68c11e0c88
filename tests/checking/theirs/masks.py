"""Which keys a query may see."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At


def causal(at: At, valid: Any) -> Any:
    """(b, t, s): keys up to the query's own, without padding."""
    size = valid.shape[1]
    past = np.tri(size, dtype=bool)
    if at.wrong("MASK-2:strict", "MASK-2:strict, filled with -1e9"):
        past = np.tri(size, k=-1, dtype=bool)
    elif at.wrong("MASK-2:one ahead"):
        past = np.tri(size, k=1, dtype=bool)
    elif at.wrong("MASK-3"):
        past = past.T
    elif at.wrong("MASK:triu of infinity"):
        past = ~np.triu(np.ones((size, size), bool), 1)
    real = valid[:, None, :]
    if at.wrong("MASK-8"):
        real = valid[:, :, None]
    if at.wrong("MASK-15:padding only"):
        mask = np.broadcast_to(real, (len(valid), size, size))
    elif at.wrong("MASK-15:causal only"):
        mask = np.broadcast_to(past, (len(valid), size, size))
    elif at.wrong("MASK-15:or"):
        mask = past | real
    else:
        mask = past & real
    return at.put("mask", mask.copy())


def padding(at: At, valid: Any, queries: int) -> Any:
    """(b, t, s): every key that isn't padding."""
    if queries == valid.shape[1] and at.wrong("MASK-8"):
        return np.broadcast_to(valid[:, :, None], (len(valid), queries, queries))
    return np.broadcast_to(valid[:, None, :], (len(valid), queries, valid.shape[1]))


def of_source(at: At, source_valid: Any, valid: Any) -> Any:
    """The mask of cross-attention: the source's padding."""
    if at.wrong("MASK-14"):
        mine = np.ones_like(source_valid)
        size = min(valid.shape[1], mine.shape[1])
        mine[:, :size] = valid[:, :size]
        source_valid = mine
    return padding(at, source_valid, valid.shape[1])
