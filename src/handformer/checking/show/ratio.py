"""Whether somebody's numbers are one multiple of the right ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CLOSE = 1e-3  # a ratio that is told to four digits
_LOUD = 1e-2  # entries that are smaller than this part of the greatest say little of a ratio


def ratio(theirs: NDArray[Any] | None, right: NDArray[Any] | None) -> float | None:
    """The one factor between two arrays; None where there is none, or it is 1."""
    if theirs is None or right is None or theirs.shape != right.shape or not right.size:
        return None
    both = np.isfinite(theirs) & np.isfinite(right)
    mine, wanted = theirs[both].astype(np.float64), right[both].astype(np.float64)
    greatest = np.abs(wanted).max(initial=0)
    loud = np.abs(wanted) > _LOUD * greatest
    if not loud.any() or not greatest:
        return None
    found = float(np.median(mine[loud] / wanted[loud]))
    apart = np.abs(mine - found * wanted).max()
    one = abs(found - 1) < _CLOSE
    return None if one or apart > _CLOSE * abs(found) * greatest else found
