"""One pass in both directions, with every value of it by path: forward, loss, backward."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

from handformer import tree
from handformer.axes import Array, IntArray
from handformer.formula import Sheet
from handformer.formula.names import gradient
from handformer.models import Model
from handformer.ops import cross_entropy
from handformer.ops.drops import NO_DROPOUT
from handformer.tracing.seen import Seen

LOSS = "loss"
LOSS_SHEET: Sheet = cross_entropy.FORMULAS.rename(b="b t")


@dataclass(frozen=True)
class Pass:
    """What a model was given and what it made of it."""

    model: Model
    inputs: Mapping[str, Any]
    targets: IntArray
    logits: Array
    cache: Any
    back: Any
    last: Mapping[str, NDArray[Any]]
    d_logits: Array

    @property
    def gradients(self) -> dict[str, NDArray[Any]]:
        """Every gradient, in the order of the computation: from the loss backwards."""
        return {f"{LOSS}.d_logits": self.d_logits} | tree.gradients(self.back)

    def enter(self, seen: Seen) -> None:
        """Every value, each as what it is first of all."""
        weights, gradients = tree.flatten(self.model), self.gradients
        of_weights = {gradient(path) for path in weights}
        seen.add("weight", weights)
        seen.add("input", {**self.inputs, f"{LOSS}.targets": self.targets})
        values = {f"{LOSS}.{name}": value for name, value in self.last.items()}
        seen.add("value", tree.flatten(self.cache) | values)
        seen.add("weight_gradient", {p: a for p, a in gradients.items() if p in of_weights})
        seen.add("gradient", {p: a for p, a in gradients.items() if p not in of_weights})


def both_ways(
    model: Model,
    inputs: Mapping[str, Any],
    targets: IntArray,
    *,
    ops: ModuleType,
    drop: Any = NO_DROPOUT,
) -> Pass:
    """Forward, the mean loss over the targets that count, and backward."""
    logits, cache = model.forward(**inputs, drop=drop, ops=ops)
    probs, losses, count, loss = ops.cross_entropy.forward(logits, targets, 0.0)
    d_logits = ops.cross_entropy.backward(1.0, probs, targets, count, 0.0)
    back = model.backward(d_logits, cache, ops=ops)  # type: ignore[arg-type]
    last = {"logits": logits, "probs": probs, "losses": losses, "count": count, "loss": loss}
    return Pass(model, inputs, targets, logits, cache, back, last, d_logits)
