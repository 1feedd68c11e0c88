"""Norms of gradients: of all together, and of each part of the model, for the log.

Squares are what adds up: those of a part's weights make the part's norm, those of all weights the
global one. So the norms of parts cost no look at the gradients beyond the one that clipping needs.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from handformer.axes import Array


def squares(grads: Mapping[str, Array]) -> dict[str, float]:
    """The sum of the squares of each gradient, added up in float64; infinite where it overflows."""
    with np.errstate(over="ignore"):  # the infinite norm says it
        return {
            path: float(np.sum(np.square(d_w, dtype=np.float64))) for path, d_w in grads.items()
        }


def norm(sums: Iterable[float]) -> float:
    """The root of all these sums of squares together."""
    return math.sqrt(sum(sums))


def of_parts(sums: Mapping[str, float]) -> dict[str, float]:
    """The norm of each part's gradient, in the order of the model, from the sums by path.

    A part is a block (`blocks.3`, `encoder.0`) or what stands beside the blocks (`embedding`).
    """
    parts: dict[str, list[float]] = {}
    for path, total in sums.items():
        parts.setdefault(part(path), []).append(total)
    return {name: norm(totals) for name, totals in parts.items()}


def part(path: str) -> str:
    """The part of the model in which the weight at this path lies."""
    first, *rest = path.split(".")
    return f"{first}.{rest[0]}" if rest and rest[0].isdigit() else first
