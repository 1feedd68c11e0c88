"""Hold the gradients of a layer, or of a whole model, against finite differences of its forward.

The loss is sum(out * d_out). Each weight and each input is moved as a whole, along a direction
drawn at random: its gradient, summed against that direction, must be the slope of the loss. So a
single wrong entry shows, since every direction leads along every entry.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.selfcheck.layers import SENT, LayerCase, Run
from handformer.selfcheck.ops import Finding

# Central differences at h and h/2, extrapolated (Richardson): the error that is left is of order
# h^4 where the loss is smooth, and rounding adds about 1e-16 / h to a loss of order 1.
STEP = 3e-4
LIMIT = 1e-7
# Differences at h and h/2 disagree by about h^2 where the loss is smooth, by more at a corner.
_SMOOTH = 1e-5
_TRIES = 5

Direction = NDArray[np.float64]


def verify(case: LayerCase, ran: Run, rng: np.random.Generator) -> tuple[Finding, ...]:
    """How far the gradient of each weight and of each input in floating point is from the slope.

    Differences are relative to the gradient's root mean square (to 1e-3 where that is smaller):
    so large is its slope along a direction, more or less. Across a corner of ReLU there is no
    slope, and differences at two steps disagree; then another direction is tried.
    """
    if ran.back is None:
        return ()
    findings = []
    for path, (array, gradient) in _moved(case, ran).items():
        scale = max(sqrt((gradient**2).mean()), 1e-3)
        for _ in range(_TRIES):
            drawn = rng.normal(size=array.shape)
            along = drawn / sqrt((drawn**2).sum())
            whole, half = (_slope(case, ran, path, along * step) for step in (STEP, STEP / 2))
            if abs(whole - half) <= _SMOOTH * scale:
                break
        apart = abs((4 * half - whole) / 3 - (gradient * along).sum())
        findings.append(Finding(path, float(apart / scale)))
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


def _slope(case: LayerCase, ran: Run, path: str, step: Direction) -> float:
    """The slope of the loss where the weight or input `path` is moved by a step both ways."""
    up, down = (_outcomes(case, ran, path, way) for way in (step, -step))
    # Subtracted before they are summed: what didn't move adds no rounding.
    rise = sum(float(((u - d) * g).sum()) for (u, g), (d, _) in zip(up, down, strict=True))
    return rise / (2 * sqrt((step**2).sum()))


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
