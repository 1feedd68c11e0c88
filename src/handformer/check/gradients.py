"""Hold the gradients of a layer, or of a whole model, against finite differences of its forward.

The loss is sum(out * d_out). Each weight and each input is moved as a whole, along a direction
drawn at random: its gradient, summed against that direction, must be the slope of the loss. A
single wrong entry of the gradient shows, since no direction is drawn across it.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.check.layers import SENT, LayerCase, Run
from handformer.check.ops import Finding

# Central differences at h and h/2, extrapolated (Richardson): the error that is left is of order
# h^4 where the loss is smooth, and rounding adds about 1e-16 / h to a loss of order 1.
STEP = 1e-4
LIMIT = 1e-7
_TRIES = 5

Direction = NDArray[np.float64]


def verify(case: LayerCase, ran: Run, rng: np.random.Generator) -> tuple[Finding, ...]:
    """How far the gradient of each weight and of each input in floating point is from the slope.

    Differences are relative to the gradient's largest entry (to 1e-3 where all are smaller), as in
    `ops.distance`. A step across a corner of ReLU has no slope: beyond the limit, another direction
    is tried, a few times. A wrong gradient is wrong in each of them.
    """
    if ran.back is None:
        return ()
    findings = []
    for path, (array, gradient) in _moved(case, ran).items():
        difference = float("inf")
        for _ in range(_TRIES):
            drawn = rng.normal(size=array.shape)
            along = drawn / sqrt((drawn**2).sum())
            apart = abs(_slope(case, ran, path, along) - (gradient * along).sum())
            difference = min(difference, apart / max(np.abs(gradient).max(), 1e-3))
            if difference <= LIMIT:
                break
        findings.append(Finding(path, float(difference)))
    return tuple(findings)


def _moved(case: LayerCase, ran: Run) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
    """What is moved, and its gradient; that of an input without any in the record is 0."""
    found = {}
    gradients = tree.flatten(getattr(ran.back, tree.PARAMS, None))
    for path, weight in tree.flatten(case.layer).items():
        found[path] = weight, gradients[path]
    for name, part in case.inputs.items():
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            gradient = getattr(ran.back, f"d_{name}", None)
            found[name] = part, np.zeros_like(part) if gradient is None else gradient
    return found


def _slope(case: LayerCase, ran: Run, path: str, along: Direction) -> float:
    """The slope of the loss where the weight or input `path` moves along a direction."""

    def rise(step: float) -> float:
        up, down = (_outcomes(case, ran, path, along * h) for h in (step, -step))
        # Subtracted before they are summed: what didn't move adds no rounding.
        return sum(float(((u - d) * g).sum()) for (u, g), (d, _) in zip(up, down, strict=True))

    return (8 * rise(STEP / 2) - rise(STEP)) / (6 * STEP)


def _outcomes(
    case: LayerCase, ran: Run, path: str, step: Direction
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """What the loss is made of, where one array is moved: values, each with its gradient."""

    def change(name: str, part: Any) -> Any:
        return part + step if name == path else part

    layer = tree.transform(case.layer, change)
    inputs = {name: change(name, part) for name, part in case.inputs.items()}
    out, _ = case.forward(layer, inputs)
    values = {**tree.flatten(layer), **inputs} if case.sent else {}
    sent = [(values[SENT[name]], gradient) for name, gradient in case.sent.items()]
    return [(out, ran.values["d_out"]), *sent]
