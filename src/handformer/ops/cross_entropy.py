"""Cross-entropy of a softmax: how little chance the logits gave to what came, over all targets.

Forward    the loss of a row is -log probs[target] = log(total) - (logits[target] - top): the row's
           maximum is taken out first, and the logarithm is taken of the sum, never of one quotient,
           which might be 0. With label smoothing the goal isn't 1 at the target but 1 - smoothing,
           and smoothing / vocab_size more at every entry.
           A target of -100 is ignored: no loss, no gradient, and it doesn't count in the mean.
Backward   log(total) has the slope probs, and each logit stands in the loss with its goal:
           d_logits = (probs - goal) / count. Each row sums to 0.
Kept       probs. The count is an argument, so that a micro-batch is divided by the whole batch's.
Source     Goodfellow, Bengio, Courville 2016, section 6.2.2.3; for the smoothing, Szegedy et al.
           2015, "Rethinking the Inception architecture", section 7.
"""

from typing import NamedTuple

import numpy as np

from handformer.axes import Array, BoolArray, IntArray
from handformer.errors import InputError
from handformer.formula import Sheet
from handformer.ops import softmax

IGNORED = -100

FORMULAS = (
    softmax.FORMULAS.only("top", "total", "y").rename(x="logits", y="probs", j="n", i="m")
    + Sheet.parse("""
        goal[b,n]    := where(targets[b] == n, 1 - smoothing, 0) + smoothing / vocab_size
        losses[b]     = where(targets[b] == -100, 0,
                        sum(n, goal[b,n] * (log(total[b]) - (logits[b,n] - top[b]))))
        count         = sum(b, where(targets[b] == -100, 0, 1))
        loss          = sum(b, losses[b]) / where(count > 0, count, 1)
        d_logits[b,n] = where(targets[b] == -100, 0,
                        d_loss * (probs[b,n] - goal[b,n]) / where(count > 0, count, 1))
    """)
).order("top total probs goal losses count loss d_logits")


class Forward(NamedTuple):
    """probs (..., vocab_size), losses (...), and without axes: count (a whole number) and loss."""

    probs: Array
    losses: Array
    count: IntArray  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    loss: Array


def forward(logits: Array, targets: IntArray, smoothing: float) -> Forward:
    """The mean loss of logits (..., vocab_size) against targets (...); 0 where all are ignored.

    Losses are natural logarithms. smoothing, from 0 to below 1, is the part of the goal that is
    spread over the vocabulary.

    Raises
    ------
    InputError
        for a target outside the vocabulary
    """
    counted = counts(targets, logits.shape[-1])
    at = np.where(counted, targets, 0)[..., None]
    shifted = logits - logits.max(axis=-1, keepdims=True)
    aimed = np.take_along_axis(shifted, at, axis=-1)
    if smoothing:
        aimed = (1 - smoothing) * aimed + smoothing * shifted.mean(axis=-1, keepdims=True)
    probs = np.exp(shifted, out=shifted)  # in place: a row is as wide as the vocabulary
    total = probs.sum(axis=-1, keepdims=True)
    probs /= total
    losses = np.where(counted, (np.log(total) - aimed)[..., 0], 0)
    count = int(np.count_nonzero(counted))  # NumPy's whole numbers would turn float32 into float64
    loss = losses.sum() / max(count, 1)
    return Forward(probs, losses, np.array(count, dtype=np.int64), np.asarray(loss))


def backward(
    d_loss: Array | float,
    probs: Array,
    targets: IntArray,
    count: IntArray | int,
    smoothing: float,
) -> Array:
    """d_logits of the shape of probs, from d_loss (no axes); count is what the loss was over."""
    counted = targets != IGNORED
    at = np.where(counted, targets, 0)[..., None]
    each = np.asarray(d_loss / max(int(count), 1), dtype=probs.dtype)
    scale = np.where(counted, each, 0)[..., None]
    d_logits: Array = (probs - smoothing / probs.shape[-1]) * scale
    aimed = np.take_along_axis(d_logits, at, axis=-1) - (1 - smoothing) * scale
    np.put_along_axis(d_logits, at, aimed, axis=-1)
    return d_logits


def counts(targets: IntArray, vocab_size: int) -> BoolArray:
    """Where a target counts, of the shape of targets.

    Raises
    ------
    InputError
        for a target outside the vocabulary
    """
    counted = targets != IGNORED
    outside = counted & ((targets < 0) | (targets >= vocab_size))
    if outside.any():
        raise InputError(
            f"target {targets[outside][0]} is outside the vocabulary: expected 0 to "
            f"{vocab_size - 1}, or {IGNORED} where a target is to be ignored"
        )
    return np.asarray(counted)
