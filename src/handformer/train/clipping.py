"""Clipping by the global norm: a rare huge gradient is made shorter, and keeps its direction.

One norm over all weights together. A norm for each tensor would bend the direction: (3, 0) and
(0, 4) with limit 1 would become (1, 0) and (0, 1) instead of (0.6, 0) and (0, 0.8). Clip once an
update, after the micro-batches' gradients are added up.

Source: Pascanu, Mikolov, Bengio 2013, "On the difficulty of training recurrent neural networks",
section 3.2.
"""

import math
from collections.abc import Mapping

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.train import norms

# The gradient of one matrix w. `total` is the sum of the squares of all weights' gradients: which
# weights there are, no formula knows. For a vector the index i falls away.
FORMULAS = Sheet.parse("""
    square = sum(i, j, d_w[i,j] * d_w[i,j])
    norm = sqrt(total)
    factor = where(limit < norm and norm < inf, limit / norm, 1)
    clipped[i,j] = d_w[i,j] * factor
""")


def global_norm(grads: Mapping[str, Array]) -> float:
    """The root of the sum of all squares, added up in float64.

    NaN if any entry is NaN, else infinite if any is (or if the squares overflow float64).
    """
    return norms.norm(norms.squares(grads).values())


def factor(norm: float, limit: float) -> float:
    """What gradients of that norm are multiplied by: 1 where it is within the limit, or not finite.

    Nothing sensible can be made of a norm that isn't finite: whoever trains has to stop.
    """
    return limit / norm if math.isfinite(norm) and norm > limit else 1.0


def clip(grads: Mapping[str, Array], limit: float) -> tuple[dict[str, Array], float]:
    """The gradients, scaled down together if their global norm exceeds `limit`, and that norm.

    The norm is the one before clipping. If it isn't finite the gradients come back as they are.
    """
    norm = global_norm(grads)
    scale = factor(norm, limit)
    return {path: d_w * scale if scale != 1 else d_w for path, d_w in grads.items()}, norm
