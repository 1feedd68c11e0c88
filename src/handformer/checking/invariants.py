"""What must hold whatever the weights are, without a reference: as numbers that should be 0.

The functions take plain arrays, anybody's, and return the greatest deviation: infinite where a
number isn't finite.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array, BoolArray, IntArray

Logits = Callable[[IntArray], Array]
Extend = Callable[[IntArray, BoolArray, Any], tuple[Array, Any]]

# A number that isn't finite counts as infinitely far off: NumPy needn't warn of it.
_quietly = np.errstate(invalid="ignore", over="ignore")

# A deviation is relative to the largest entry, and where all are smaller to this.
SMALLEST = 1e-3


@_quietly
def rows_sum_to_one(attn: Array, mask: BoolArray | None = None) -> float:
    """Weights (..., t, s) of a query sum to 1; to 0 where the mask hides every key from it."""
    sums = attn.sum(axis=-1, dtype=np.float64)
    seen = np.True_ if mask is None else np.broadcast_to(mask, attn.shape).any(axis=-1)
    return _greatest(sums - np.where(seen, 1.0, 0.0))


@_quietly
def rows_sum_to_zero(gradient: Array) -> float:
    """The gradient of what goes into a softmax, d_scores or d_logits, sums to 0 along each row.

    A softmax doesn't change when its whole row is shifted, so the slope along that shift is 0.
    """
    return _greatest(gradient.sum(axis=-1, dtype=np.float64), gradient)


def hidden_is_zero(array: Array, mask: BoolArray) -> float:
    """Where the mask (..., t, s) hides, weights and gradients are exactly 0."""
    return _greatest(array[~np.broadcast_to(mask, array.shape)])


def unseeing_rows_are_zero(rows: Array, mask: BoolArray) -> float:
    """A row (..., t, z) of a query from which the mask (..., t, s) hides every key is exactly 0."""
    seen = np.broadcast_to(mask.any(axis=-1), rows.shape[:-1])
    return _greatest(rows[~seen])


@_quietly
def orthogonal(rows: Array, others: Array) -> float:
    """The cosine of the angle between each row and its other: 0 where they are orthogonal.

    The gradient of a LayerNorm's input is orthogonal to ones, because adding a number to a row
    changes nothing; with eps 0 also to x_hat, because multiplying it doesn't either.
    """
    lengths = _length(rows) * _length(others)
    products = (rows * others).sum(axis=-1, dtype=np.float64)
    return _greatest(products / np.where(lengths > 0, lengths, 1))


@_quietly
def keeps_norms(rows: Array, turned: Array) -> float:
    """A rotation leaves the length of each row as it is."""
    before = _length(rows)
    return _greatest(_length(turned) - before, before)


@_quietly
def apart(found: Array, right: Array) -> float:
    """The greatest difference of two arrays of one shape; 0 where they are equal bit for bit."""
    if np.shape(found) != np.shape(right):
        return float("inf")
    return _greatest(np.subtract(found, right, dtype=np.float64), np.asarray(right))


def looks_ahead(logits: Logits, tokens: IntArray, place: int, token: int) -> float:
    """How much the logits before `place` change when another token stands there: exactly 0.

    logits maps tokens (..., t) to (..., t, vocab_size).
    """
    changed = tokens.copy()
    changed[..., place] = token
    return apart(logits(changed)[..., :place, :], logits(tokens)[..., :place, :])


def flows_back(d_x: Array, place: int) -> float:
    """d_x (..., t, i) from `place` on: 0 where only logits before `place` had a gradient."""
    return _greatest(d_x[..., place:, :])


def differs_in_pieces(
    extend: Extend, tokens: IntArray, valid: BoolArray, pieces: Sequence[int], logits: Array
) -> float:
    """How far logits that are written piece by piece are from those of all tokens (..., t) at once.

    extend takes tokens, their `valid` and what it returned before (None at first), and returns
    logits and what it remembers; a place that isn't valid doesn't count.
    """
    assert sum(pieces) == tokens.shape[-1]
    written, past, start = [], None, 0
    for size in pieces:
        now = slice(start, start + size)
        piece, past = extend(tokens[..., now], valid[..., now], past)
        written.append(piece)
        start += size
    return apart(np.concatenate(written, axis=-2)[valid], logits[valid])


def shift_changes(loss: Callable[[Array], Iterable[Array]], logits: Array, shift: Array) -> float:
    """How much a loss changes when each row of logits is shifted by one number, shift (..., 1)."""
    pairs = zip(loss(logits + shift), loss(logits), strict=True)
    return max(apart(found, right) for found, right in pairs)


def _greatest(deviation: NDArray[Any], scale: NDArray[Any] | None = None) -> float:
    """The greatest entry, relative to the greatest of `scale`; infinite where one isn't finite."""
    if not np.isfinite(deviation).all() or not (scale is None or np.isfinite(scale).all()):
        return float("inf")
    whole = 1.0 if scale is None else float(np.abs(scale).max(initial=SMALLEST))
    return float(np.abs(deviation).max(initial=0)) / whole


def _length(rows: Array) -> Array:
    length: Array = np.sqrt((rows**2).sum(axis=-1, dtype=np.float64))
    return length
