"""Cross-entropy, compiled: a row is read once from memory, and the rest happens in cache."""

from math import log

import numpy as np

from handformer.axes import Array, IntArray
from handformer.fast.compiled import compiled, empty_like, known, rows
from handformer.fast.exponential import exp
from handformer.fast.memory import empty
from handformer.ops import cross_entropy as plain
from handformer.ops.cross_entropy import IGNORED, Forward, counts


@compiled
def _forward(
    logits: Array, targets: IntArray, smoothing: float, probs: Array, losses: Array
) -> None:
    kind = logits.dtype.type
    width = logits.shape[1]
    for row in range(logits.shape[0]):
        top = logits[row, 0]
        for n in range(width):
            top = logits[row, n] if logits[row, n] > top else top  # a NaN comes back in the total
        total, mean = kind(0), kind(0)
        for n in range(width):
            e = exp(logits[row, n] - top)
            probs[row, n] = e
            total += e
        share = kind(1) / total
        for n in range(width):
            probs[row, n] *= share
        if targets[row] == IGNORED:
            losses[row] = kind(0)
            continue
        aimed = logits[row, targets[row]] - top
        if smoothing:
            for n in range(width):
                mean += logits[row, n] - top
            aimed = kind(1 - smoothing) * aimed + kind(smoothing) * (mean / kind(width))
        losses[row] = kind(log(total)) - aimed


@compiled
def _backward(
    each: float, probs: Array, targets: IntArray, smoothing: float, d_logits: Array
) -> None:
    kind = probs.dtype.type
    width = probs.shape[1]
    spread, aim = kind(smoothing / width), kind(1 - smoothing)
    for row in range(probs.shape[0]):
        scale = kind(0) if targets[row] == IGNORED else kind(each)
        for n in range(width):
            d_logits[row, n] = (probs[row, n] - spread) * scale
        if targets[row] != IGNORED:
            d_logits[row, targets[row]] -= aim * scale


def forward(logits: Array, targets: IntArray, smoothing: float) -> Forward:
    """The mean loss of logits (..., vocab_size) against targets (...); 0 where all are ignored.

    With smoothing, each row's goal is spread over the vocabulary in that part.

    Raises
    ------
    InputError
        for a target outside the vocabulary
    """
    if not known(logits) or targets.shape != logits.shape[:-1]:
        return plain.forward(logits, targets, smoothing)
    count = int(np.count_nonzero(counts(targets, logits.shape[-1])))
    probs, losses = empty_like(logits), empty(targets.shape, logits.dtype)
    _forward(rows(logits), _flat(targets), smoothing, rows(probs), losses.reshape(-1))
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
    if not known(probs) or targets.shape != probs.shape[:-1]:
        return plain.backward(d_loss, probs, targets, count, smoothing)
    d_logits = empty_like(probs)
    each = float(d_loss / max(int(count), 1))
    _backward(each, rows(probs), _flat(targets), smoothing, rows(d_logits))
    return d_logits


def _flat(targets: IntArray) -> IntArray:
    return np.ascontiguousarray(targets, dtype=np.int64).reshape(-1)
