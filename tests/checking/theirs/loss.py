"""Cross-entropy over the targets that count, and its gradient."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At
from tests.checking.theirs.softmax import over

IGNORED = -100
PAD = 0


def forward(at: At, logits: Any) -> Any:
    at.note("logits", logits)
    with np.errstate(all="ignore"):
        return _forward(at, logits, at.note("targets", _targets(at)))


def _targets(at: At) -> Any:
    targets = at["targets"]
    if at.wrong("LOSS-1"):
        return np.concatenate([targets[:, 1:], np.full((len(targets), 1), IGNORED)], axis=1)
    if at.wrong("LOSS-2"):
        tokens, valid = at.program.given["tokens"], at.program.given["valid"]
        return np.where(valid, tokens, IGNORED)
    if at.wrong("LOSS-4"):
        return np.where(targets == IGNORED, PAD, targets)
    return targets


def _forward(at: At, logits: Any, targets: Any) -> Any:
    if at.wrong("LOSS-7"):
        logits = logits.swapaxes(1, 2).reshape(logits.shape)
    probs = at.put("probs", over(logits))
    kept = targets != IGNORED
    losses = at.put("losses", np.where(kept, _losses(at, logits, probs, targets), 0))
    count = int(kept.sum())
    total = losses.sum()
    if at.wrong("LOSS-5"):
        count = targets.size
    elif at.wrong("LOSS-10"):
        count, total = int(kept[0].sum()), losses[0].sum()
    at.put("count", np.int64(count))
    loss = total / max(count, 1)
    if at.wrong("LOSS-6"):
        loss = loss / logits.shape[-1]
    return at.put("loss", loss)


def _goal(at: At, targets: Any, size: int) -> Any:
    """The distribution that is aimed at: one word, or mostly one word."""
    smoothing = at.number("smoothing")
    hit = np.arange(size) == targets[..., None]
    if not smoothing:
        return hit.astype(at.program.dtype)
    if at.wrong("LOSS-9:V - 1"):
        goal = np.where(hit, 1 - smoothing, smoothing / (size - 1))
    elif at.wrong("LOSS-9:V - 2"):
        goal = np.where(hit, 1 - smoothing, smoothing / (size - 2))
        goal[..., PAD] = 0
    elif at.wrong("LOSS-9:not to padding"):
        goal = np.where(hit, 1 - smoothing, 0) + smoothing / size
        goal[..., PAD] = 0
    else:
        goal = np.where(hit, 1 - smoothing, 0) + smoothing / size
    return goal.astype(at.program.dtype)


def _losses(at: At, logits: Any, probs: Any, targets: Any) -> Any:
    goal = at.note("goal", _goal(at, targets, logits.shape[-1]))
    if at.wrong("LOSS-8", "LOSS:log of softmax"):
        return -np.where(goal > 0, goal * np.log(probs), 0).sum(axis=-1)
    if at.wrong("LOSS-3"):
        logits = probs
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return (goal * (log_total - shifted)).sum(axis=-1)


def backward(at: At) -> Any:
    """d_logits."""
    probs, targets = at["probs"], at["targets"]
    rows, size, vocabulary = probs.shape
    kept = targets != IGNORED
    goal = at["goal"]
    counts = {
        "none": 1, "B": rows, "T": size, "B T": rows * size, "B T V": rows * size * vocabulary
    }  # fmt: skip
    form = at.form("BL-1", counts)
    count = counts[form] if form else max(int(at["count"]), 1)
    d = np.where(kept[..., None], (probs - goal) / count, 0)
    if at.wrong("LOSS BACK:one less at the target"):
        d = probs.copy()
        row, place = np.nonzero(kept)
        d[row, place, targets[row, place]] -= 1
        d = d * kept[..., None] / count
    if at.wrong("BL-2"):
        d = probs * (d - (d * probs).sum(axis=-1, keepdims=True))
    elif at.wrong("BL-3:all of P"):
        d = np.where(kept[..., None], d, probs / count)
    elif at.wrong("BL-3:to padding"):
        padding = (np.arange(vocabulary) == PAD).astype(probs.dtype)
        d = np.where(kept[..., None], d, (probs - padding) / count)
    elif at.wrong("BL-4:missing"):
        d = np.where(kept[..., None], -goal / count, 0)
    elif at.wrong("BL-4:sign"):
        d = np.where(kept[..., None], -(goal + probs) / count, 0)
    if at.wrong("LOSS-10"):
        d[1:] = 0
    return at.put("d_logits", d)
