"""What rounding explains: how far a value may lie from a float64 shadow."""

from typing import Any

import numpy as np

from handformer.axes import Array
from handformer.selfcheck.ops import Arrays, Case, call


def results(op: Any, case: Case, given: Arrays) -> dict[str, Array]:
    """What the op makes of these arguments, both directions, by name."""
    found = {}
    for names, way in ((case.sheet.forward, "forward"), (case.sheet.backward, "backward")):
        if names:
            result = call(getattr(op, way), {**case.scalars, **given})
            parts = result if isinstance(result, tuple) else (result,)
            present = [part for part in parts if part is not None]
            found |= dict(zip(names, present, strict=True))
    return found


def explained(case: Case, given: Arrays) -> tuple[Arrays, Arrays]:
    """The values in float64, and how far rounding may take each entry from them."""
    eps = max((np.finfo(a.dtype).eps for a in given.values() if a.dtype.kind == "f"), default=0)
    wide = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in given.items()}
    right, rng = results(case.op, case, wide), np.random.default_rng(4)

    def moved() -> Arrays:
        arrays = {
            n: a * (1 + eps * rng.choice([-1, 1], size=a.shape)) if a.dtype.kind == "f" else a
            for n, a in wide.items()
        }
        return results(case.op, case, arrays)

    others = [moved() for _ in range(8)]
    allowed = {}
    for name, value in right.items():
        spread = np.max([np.abs(other[name] - 1.0 * value) for other in others], axis=0)
        allowed[name] = 4 * spread + 4 * eps * np.abs(value).max(initial=0)
    return right, allowed
