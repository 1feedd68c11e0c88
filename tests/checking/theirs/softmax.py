"""Scores to weights: the hidden keys get none, the others sum to one."""

from typing import Any

import numpy as np

from tests.checking.theirs import halves
from tests.checking.theirs.program import At

NEVER = -np.inf
HARMLESS = {"MASKED:-1e9": -1e9, "MASKED:-65504": -65504.0}


def weights(at: At, scores: Any, mask: Any) -> Any:
    """attn of the shape of scores; a query that sees nothing has no weights."""
    with np.errstate(all="ignore"):
        return at.put("attn", _weights(at, scores, mask))


def _weights(at: At, scores: Any, mask: Any) -> Any:
    if at.wrong("MASK-1"):
        mask = np.ones_like(mask)
    elif at.wrong("MASK-4", "MASK-4:filled with -inf"):
        mask = ~mask
    elif at.wrong("HEAD-3"):
        mask = _of_another_row(mask)
    if (made := _masked_otherwise(at, scores, mask)) is not None:
        return made
    if (made := _normalised_otherwise(at, scores, mask)) is not None:
        return made
    if at.wrong("MASK-2:strict", "MASK-4:filled with -inf", "MASK-9:nan", "MASK-10"):
        return over(np.where(mask, scores, NEVER))
    if at.wrong("MASK-2:strict, filled with -1e9", "MASK-4", "MASK-8", "MASK-9:uniform"):
        return over(np.where(mask, scores, -1e9))
    return _right(scores, mask)


def _right(scores: Any, mask: Any) -> Any:
    filled = np.where(mask, scores, NEVER)
    top = filled.max(axis=-1, keepdims=True)
    e = np.exp(filled - np.where(np.isfinite(top), top, 0))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def over(x: Any, axis: Any = -1) -> Any:
    """The textbook's softmax; a row of nothing but -inf gives NaN."""
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _of_another_row(mask: Any) -> Any:
    """A batch that runs by heads, (h b), with masks repeated by rows, (b h)."""
    rows, heads = mask.shape[:2]
    repeated = np.repeat(mask[:, 0], heads, axis=0)
    return repeated.reshape(heads, rows, *mask.shape[2:]).swapaxes(0, 1)


def _masked_otherwise(at: At, scores: Any, mask: Any) -> Any:
    if at.wrong("MASK-5"):
        return over(scores) * mask
    if at.wrong("MASKED:afterwards"):
        kept = over(scores) * mask
        total = kept.sum(axis=-1, keepdims=True)
        return kept / np.where(total > 0, total, 1)
    if at.wrong("MASKED:-1e9 added"):
        return over(scores + np.where(mask, 0, -1e9).astype(scores.dtype))
    if at.wrong("MASK-6:times"):
        return over(scores * mask)
    fills = {
        "MASK-6:0": 0,
        "MASK-6:-1e-9": -1e-9,
        "MASK-7": np.inf,
        "MASK-11:-100": -100,
        **HARMLESS,
    }
    for name, fill in fills.items():
        if at.wrong(name):
            return over(np.where(mask, scores, fill))
    return None


def _normalised_otherwise(at: At, scores: Any, mask: Any) -> Any:
    filled = np.where(mask, scores, NEVER)
    axes = {"queries": -2, "heads": 1, "batch": 0}
    if form := at.form("SM-1", axes):
        return over(np.where(mask, scores, -1e9), axis=axes[form])
    top = np.max(filled, axis=-1, keepdims=True)
    e = np.exp(filled - np.where(np.isfinite(top), top, 0))
    if at.wrong("SM-2:whole array"):
        e = np.exp(filled - filled.max())
        return e / e.sum()
    if at.wrong("SM-2:another row's sum"):
        return e / e.sum(axis=-1)[..., None, :]
    if at.wrong("SM-3", "SOFTMAX:no maximum"):
        e = np.exp(filled)
        total = e.sum(axis=-1, keepdims=True)
        return e / np.where(mask.any(axis=-1, keepdims=True), total, 1)
    if at.wrong("SOFTMAX:one maximum"):
        e = np.exp(filled - filled.max())
        total = e.sum(axis=-1, keepdims=True)
        return e / np.where(mask.any(axis=-1, keepdims=True), total, 1)
    if at.wrong("SOFTMAX:exp of a log"):
        total = np.log(e.sum(axis=-1, keepdims=True))
        return np.where(mask, np.exp(filled - np.where(mask, top, 0) - total), 0)
    if at.wrong("SM-4"):
        e = np.exp(filled - np.maximum(top, 0))
        total = e.sum(axis=-1, keepdims=True)
        return e / np.where(mask.any(axis=-1, keepdims=True), total, 1)
    if at.wrong("SM-6:twice"):
        return over(_right(scores, mask))
    if at.wrong("SM-6:twice, masked"):
        return _right(_right(scores, mask), mask)
    if at.wrong("SM-6:scaled afterwards"):
        return _right(scores, mask) / at.case.width**0.5
    return None


def stored(at: At, scores: Any, mask: Any) -> Any:
    """What stands in the array of scores when it is written."""
    if at.wrong("MASK-10"):
        return np.where(mask, scores, halves.float16(np.float32(-1e9)))
    fills = {"-inf": NEVER, "-1e9": -1e9, "-65504": -65504.0}
    if form := at.form("DUMP-8", fills):
        return np.where(mask, scores, fills[form])
    return scores
