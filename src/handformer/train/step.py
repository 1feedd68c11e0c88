"""One update's gradients: micro-batches treated as if they were one batch."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

import handformer.ops as plain
from handformer import tree
from handformer.axes import Array, IntArray
from handformer.formula import Sheet
from handformer.models import Model
from handformer.ops.cross_entropy import IGNORED
from handformer.ops.drops import NO_DROPOUT, Drops
from handformer.train import norms

# Of micro-batches b, each with the mean of its losses, the gradient of that mean, and the count of
# its targets: the loss and the gradient of a matrix w for all of them together.
FORMULAS = Sheet.parse("""
    loss = sum(b, counts[b] * losses[b]) / sum(b, counts[b])
    d_w[i,j] = sum(b, counts[b] * d_each[b,i,j]) / sum(b, counts[b])
""")

# map, or what works like it on several items at once.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


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

    def split(self, shares: int) -> list["Batch"]:
        """The same sequences in so many batches of about one size; in fewer where there are few."""
        shares = min(shares, len(self.targets))
        inputs = {name: np.array_split(array, shares) for name, array in self.inputs.items()}
        return [
            Batch({name: parts[share] for name, parts in inputs.items()}, targets)
            for share, targets in enumerate(np.array_split(self.targets, shares))
        ]


@dataclass(frozen=True)
class Gradients:
    """The loss (mean over the targets that count), its gradient for every weight by path, and the
    sum of each gradient's squares.
    """

    loss: float
    grads: dict[str, Array]
    squares: dict[str, float]

    @cached_property
    def norm(self) -> float:
        """The norm of all gradients together."""
        return norms.norm(self.squares.values())


class NonFiniteError(ArithmeticError):
    """A number that isn't finite appeared; the message says in which value it appeared first."""


@dataclass(frozen=True)
class Pass:
    """One micro-batch, forward and backward: its part of the loss, and every value on the way."""

    loss: float
    losses: Array
    cache: Any
    back: Any

    @property
    def grads(self) -> dict[str, Array]:
        """Its part of the gradient of every weight, by path."""
        return tree.flatten(self.back.params)


def passed(
    model: Model, batch: Batch, total: int, smoothing: float, drop: Drops, ops: ModuleType
) -> Pass:
    """One micro-batch's part of the mean loss over `total` targets, and its gradients."""
    with np.errstate(all="ignore"):  # what isn't finite is found and named
        logits, cache = model.forward(**batch.inputs, drop=drop, ops=ops)
        probs, losses, _, _ = ops.cross_entropy.forward(logits, batch.targets, smoothing)
        d_logits = ops.cross_entropy.backward(1.0, probs, batch.targets, total, smoothing)
        back = model.backward(d_logits, cache, ops=ops)  # type: ignore[arg-type]
        return Pass(_sum(losses) / max(total, 1), losses, cache, back)


def places(drop: Drops, batches: Sequence[Batch]) -> list[tuple[Batch, Drops]]:
    """Each micro-batch with what draws its dropout masks."""
    return [(batch, drop.at(f"micro.{micro}")) for micro, batch in enumerate(batches)]


def gradients(
    model: Model,
    batches: Sequence[Batch],
    *,
    smoothing: float = 0.0,
    drop: Drops = NO_DROPOUT,
    ops: ModuleType = plain,
    each: Each = map,
) -> Gradients:
    """Mean loss over all targets of all micro-batches, and its gradient.

    Every micro-batch's gradient is divided by the count of targets in all of them: a mean of means
    would weigh the targets of a short micro-batch more. `each(function, micro-batches)` may work on
    several of them at once; their gradients are added up in their order.

    Raises
    ------
    NonFiniteError
        where the loss or a gradient isn't finite
    """
    total = sum(batch.count for batch in batches)
    loss, summed = 0.0, dict[str, Array]()

    def run(item: tuple[Batch, Drops]) -> Pass:
        return passed(model, item[0], total, smoothing, item[1], ops)

    with np.errstate(all="ignore"):
        for made in each(run, places(drop, batches)):
            loss += made.loss
            grads = made.grads
            summed = {path: summed[path] + g for path, g in grads.items()} if summed else grads
            if not math.isfinite(made.loss) or _broken(grads) is not None:
                raise_first(model, made)
    require_finite("gradient", summed)
    return Gradients(loss, summed, norms.squares(summed))


def evaluate(
    model: Model,
    batches: Sequence[Batch],
    *,
    ops: ModuleType = plain,
    each: Each = map,
) -> float:
    """Mean loss over all targets of the batches, in nats, without dropout or smoothing.

    `each(function, batches)` may work on several of them at once.

    Raises
    ------
    NonFiniteError
        where the loss isn't finite
    """

    def part(batch: Batch) -> float:
        with np.errstate(all="ignore"):
            logits, cache = model.forward(**batch.inputs, ops=ops)
            _, losses, _, _ = ops.cross_entropy.forward(logits, batch.targets, 0.0)
            loss = _sum(losses)
            if not math.isfinite(loss):
                raise_first(model, Pass(loss, losses, cache, ()))
            return loss

    count = sum(batch.count for batch in batches)
    return sum(each(part, batches)) / max(count, 1)


def require_finite(kind: str, values: Mapping[str, Array]) -> None:
    """Raise NonFiniteError with the first of the values that holds a number that isn't finite."""
    path = _broken(values)
    if path is not None:
        array = values[path]
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise NonFiniteError(
            f"the {kind} {path}{f' at {place}' if place else ''} is {array[place]}"
        )


def raise_first(model: Model, made: Pass) -> NoReturn:
    """Raise NonFiniteError with the first value, in the order of computation, that isn't finite."""
    require_finite("weight", tree.flatten(model))
    require_finite("value", {**tree.flatten(made.cache), "losses": made.losses})
    require_finite("gradient", tree.gradients(made.back))
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
