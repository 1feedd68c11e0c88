"""One update's gradients: micro-batches treated as if they were one batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import handformer.ops as plain
from handformer import tree
from handformer.axes import Array, IntArray
from handformer.models import Model
from handformer.ops.cross_entropy import IGNORED
from handformer.ops.dropout import NO_DROPOUT, Keeping


@dataclass(frozen=True)
class Batch:
    """What a model reads: `inputs` are the arguments of its forward, by name, and the targets (b,
    t).
    """

    inputs: dict[str, Any]
    targets: IntArray

    @property
    def count(self) -> int:
        """The number of targets that count."""
        return int((self.targets != IGNORED).sum())

    @property
    def tokens(self) -> int:
        """The number of places that the model reads, padding included."""
        return int(sum(a.size for name, a in self.inputs.items() if not name.endswith("valid")))


@dataclass(frozen=True)
class Gradients:
    """The loss (mean over the targets that count) and its gradient for every weight, by path."""

    loss: float
    grads: dict[str, Array]


class NonFiniteError(ArithmeticError):
    """A number that isn't finite appeared; the message says in which value it appeared first."""


def gradients(
    model: Model,
    batches: Sequence[Batch],
    *,
    smoothing: float = 0.0,
    drop: Keeping = NO_DROPOUT,
    ops: ModuleType = plain,
) -> Gradients:
    """Mean loss over all targets of all micro-batches, and its gradient.

    Every micro-batch's gradient is divided by the count of targets in all of them: a mean of means
    would weigh the targets of a short micro-batch more.

    Raises
    ------
    NonFiniteError
        where the loss or a gradient isn't finite
    """
    total = sum(batch.count for batch in batches)
    loss, summed = 0.0, dict[str, Array]()
    for micro, batch in enumerate(batches):
        place = drop.at(f"micro.{micro}")
        with np.errstate(all="ignore"):  # what isn't finite is found and named below
            logits, cache = model.forward(**batch.inputs, drop=place, ops=ops)
            probs, losses, _, _ = ops.cross_entropy.forward(logits, batch.targets, smoothing)
            d_logits = ops.cross_entropy.backward(1.0, probs, batch.targets, total, smoothing)
            back = model.backward(d_logits, cache, ops=ops)  # type: ignore[arg-type]
        part = float(losses.sum(dtype=np.float64)) / max(total, 1)
        grads = tree.flatten(back.params)
        if not np.isfinite(part) or not all(np.isfinite(g).all() for g in grads.values()):
            raise NonFiniteError(first_non_finite(model, cache, losses, back))
        loss += part
        summed = {path: summed[path] + g for path, g in grads.items()} if summed else grads
    return Gradients(loss, summed)


def evaluate(model: Model, batches: Sequence[Batch], *, ops: ModuleType = plain) -> float:
    """Mean loss over all targets of the batches, in nats, without dropout or smoothing."""
    loss, count = 0.0, 0
    for batch in batches:
        with np.errstate(all="ignore"):
            logits, _ = model.forward(**batch.inputs, ops=ops)
            _, losses, _, _ = ops.cross_entropy.forward(logits, batch.targets, 0.0)
        loss += float(losses.sum(dtype=np.float64))
        count += batch.count
    return loss / max(count, 1)


def first_non_finite(model: Model, cache: Any, losses: Array, back: Any) -> str:
    """The path of the first value, in the order of computation, that holds a non-finite number."""
    for kind, values in (
        ("weight", tree.flatten(model)),
        ("value", {**tree.flatten(cache), "losses": losses}),
        ("gradient", tree.gradients(back)),
    ):
        for path, array in values.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                return f"the {kind} {path} at {place} is {array[place]}"
    raise AssertionError("everything is finite")
