"""Mistakes in clipping gradients by their norm: section 16 of the catalogue."""

from handformer.checking.mistakes.every_weight import every, one
from handformer.checking.mistakes.mistake import Mistake, Shows

_COUNT = "sum(b, micro.counts[b])"
# The factor for a micro-batch's part of the gradient, if it is clipped by itself.
_OWN = "where(micro.norm[b] > limit, limit / micro.norm[b], 1)"
_PART = f"limit * {_COUNT} / (micro.counts[e] * micro.norm[e])"
# Of two micro-batches the first part alone, then the sum: which is clipped in any case.
_FIRST = f"where(e < n_micro - 1 and {_PART} < 1, {_PART}, 1)"

CLIPPING = (
    Mistake(
        "CLIP-1",
        "Every weight's gradient was clipped by its own norm, which bends the direction.",
        "Take one norm of all gradients together, and scale all of them by one factor.",
        (
            every(
                "clipped",
                "= grads.{1}[_] * where(squares.{1} > limit ** 2, limit / sqrt(squares.{1}), 1)",
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "CLIP-2",
        "The gradients were clipped at every micro-batch: {}.",
        "Clip once an update, after the micro-batches' gradients are added up.",
        (
            every(
                "grads",
                f"= sum(b, micro.counts[b] * micro.grads.{{1}}[b,_] * {_OWN}) / {_COUNT}",
                "each one's by its own norm",
            ),
            every(
                "grads",
                f"= sum(e, micro.counts[e] * micro.grads.{{1}}[e,_] * {_FIRST}) / {_COUNT}",
                "what was added up so far, each time",
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "CLIP-3",
        "The gradients were clipped while they were still multiplied by the {loss_scale}.",
        "Divide by the loss scale first, then take the norm and clip.",
        (one("norm", "norm = norm * loss_scale"),),
        Shows.STEPS,
    ),
    Mistake(
        "CLIP-4",
        "The gradients weren't clipped by their norm: {}.",
        "Scale all gradients by min(1, limit / norm), before the optimizer sees them.",
        (
            every(
                "clipped",
                "= where(grads.{1}[_] > limit, limit, "
                "where(grads.{1}[_] < -limit, -limit, grads.{1}[_]))",
                "each entry was cut off at the limit",
            ),
            every(
                "clipped",
                "= grads.{1}[_]",
                "the optimizer got them as they were; to clip its update comes too late",
            ),
        ),
        Shows.STEPS,
    ),
    Mistake(
        "CLIP-5",
        "The gradients are scaled by another factor than min(1, limit / norm): {}.",
        "Take the root of the sum of squares, and leave gradients within the limit alone.",
        (
            one("factor", "factor = limit / norm", "short ones were made longer"),
            one("norm", "norm = total", "the root was forgotten"),
        ),
        Shows.STEPS,
    ),
)

AS_PYTORCH = Mistake(
    "CLIP-5",
    "clipped by limit / (norm + 1e-6), as PyTorch's `clip_grad_norm_` does",
    "Nothing is to be done: it makes next to no difference.",
    (one("factor", "limit / norm -> limit / (norm + 1e-6)"),),
    Shows.STEPS,
)
