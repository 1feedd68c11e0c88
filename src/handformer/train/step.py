"""One update's gradients: micro-batches treated as if they were one batch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

import handformer.ops as plain
from handformer import tree
from handformer.axes import Array, IntArray
from handformer.models import Model
from handformer.ops.cross_entropy import IGNORED
from handformer.ops.drops import NO_DROPOUT, Drops


@dataclass(frozen=True)
class Batch:
    """The arguments of a model's forward, by name, and the targets (b, t)."""

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
    drop: Drops = NO_DROPOUT,
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
    with np.errstate(all="ignore"):  # what isn't finite is found and named
        for micro, batch in enumerate(batches):
            place = drop.at(f"micro.{micro}")
            logits, cache = model.forward(**batch.inputs, drop=place, ops=ops)
            probs, losses, _, _ = ops.cross_entropy.forward(logits, batch.targets, smoothing)
            d_logits = ops.cross_entropy.backward(1.0, probs, batch.targets, total, smoothing)
            back = model.backward(d_logits, cache, ops=ops)  # type: ignore[arg-type]
            grads = tree.flatten(back.params)
            part = _sum(losses) / max(total, 1)
            if not math.isfinite(part) or _broken(grads) is not None:
                _raise_first(model, cache, losses, back)
            loss += part
            summed = {path: summed[path] + g for path, g in grads.items()} if summed else grads
    require_finite("gradient", summed)
    return Gradients(loss, summed)


def evaluate(model: Model, batches: Sequence[Batch], *, ops: ModuleType = plain) -> float:
    """Mean loss over all targets of the batches, in nats, without dropout or smoothing.

    Raises
    ------
    NonFiniteError
        where the loss isn't finite
    """
    loss, count = 0.0, 0
    with np.errstate(all="ignore"):
        for batch in batches:
            logits, cache = model.forward(**batch.inputs, ops=ops)
            _, losses, _, _ = ops.cross_entropy.forward(logits, batch.targets, 0.0)
            part = _sum(losses)
            if not math.isfinite(part):
                _raise_first(model, cache, losses)
            loss += part
            count += batch.count
    return loss / max(count, 1)


def require_finite(kind: str, values: Mapping[str, Array]) -> None:
    """Raise NonFiniteError with the first of the values that holds a number that isn't finite."""
    path = _broken(values)
    if path is not None:
        array = values[path]
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise NonFiniteError(
            f"the {kind} {path}{f' at {place}' if place else ''} is {array[place]}"
        )


def _raise_first(model: Model, cache: Any, losses: Array, back: Any = ()) -> NoReturn:
    """Raise NonFiniteError with the first value, in the order of computation, that isn't finite."""
    require_finite("weight", tree.flatten(model))
    require_finite("value", {**tree.flatten(cache), "losses": losses})
    require_finite("gradient", tree.gradients(back))
    raise NonFiniteError("the sum of the losses is too large for float64")


def _sum(losses: Array) -> float:
    return float(losses.sum(dtype=np.float64))


def _broken(values: Mapping[str, Array]) -> str | None:
    """The path of the first value that isn't finite; whole numbers and masks always are."""
    found = (
        path
        for path, array in values.items()
        if array.dtype.kind == "f" and not np.isfinite(array).all()
    )
    return next(found, None)
