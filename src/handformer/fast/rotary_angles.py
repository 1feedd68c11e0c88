"""The turns of rotary positions: those of the same few positions are computed once.

In a step of generation all layers ask for the turns of one position a row.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from handformer.axes import IntArray
from handformer.ops import rotary_angles as plain
from handformer.ops.rotary_angles import Forward

_FEW = 16  # rows that are written to at once


def forward(positions: IntArray, d_k: int, base: float, dtype: Any) -> Forward:
    """As the plain one; of few positions the result is read-only, since others may get it too."""
    if positions.size > _FEW:
        return plain.forward(positions, d_k, base, dtype)
    return _once(positions.tobytes(), positions.dtype, positions.shape, d_k, base, np.dtype(dtype))


@lru_cache(maxsize=16)
def _once(
    positions: bytes, kind: Any, shape: tuple[int, ...], d_k: int, base: float, dtype: Any
) -> Forward:
    found = plain.forward(np.frombuffer(positions, kind).reshape(shape), d_k, base, dtype)
    for part in found:
        part.flags.writeable = False
    return found
