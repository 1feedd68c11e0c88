"""Cases for the loss: ignored targets in unequal numbers, smoothing, large logits, none left."""

import numpy as np
from numpy.typing import NDArray

from handformer.ops import cross_entropy
from handformer.ops.cross_entropy import IGNORED
from handformer.selfcheck.ops import Case

VOCAB_SIZE = 7
# A target may come twice, and rows hold different numbers of ignored ones.
TARGETS = (
    ("one target", np.array(4)),
    ("one of two ignored", np.array([IGNORED, 6])),
    ("unequal numbers ignored", np.array([[5, 0, 5], [IGNORED, 3, IGNORED]])),
    ("all ignored", np.full((2,), IGNORED)),
)


def cases(rng: np.random.Generator) -> list[Case]:
    """Every kind of targets, without and with label smoothing; and logits beyond exp's range."""
    found = [
        _case(rng, targets, smoothing, f"{label}, smoothing {smoothing}")
        for label, targets in TARGETS
        for smoothing in (0.0, 0.1)
    ]
    large = _case(rng, TARGETS[2][1], 0.1, "large logits", shift=95)
    return [*found, large, _unexpected(np.random.default_rng(5))]


def _unexpected(rng: np.random.Generator) -> Case:
    """A target so improbable that its probability is 0 in float32."""
    case = _case(rng, TARGETS[2][1], 0.0, "large surprise")
    case.arrays["logits"][0, 0, TARGETS[2][1][0, 0]] -= 120
    return case


def _case(
    rng: np.random.Generator,
    targets: NDArray[np.int64],
    smoothing: float,
    label: str,
    shift: float = 0,
) -> Case:
    logits = 2 * rng.normal(size=(*targets.shape, VOCAB_SIZE)) + shift
    scalars = {"smoothing": smoothing, "vocab_size": VOCAB_SIZE}
    return Case(cross_entropy, {"logits": logits, "targets": targets}, scalars, label)
