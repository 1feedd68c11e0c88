"""In which type numbers were computed, judged by the numbers themselves.

Many dumps are widened: computed in float32 or float16, and stored as float64. The stored type then
promises more than the numbers keep.
"""

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

FLOAT32 = 2.0**-24
_FIRST, _PIECE = 2**8, 2**16  # most arrays are told apart by a few numbers
_ENOUGH = 16  # different numbers before we believe that they were rounded


def rounding(array: NDArray[Any]) -> tuple[float, float]:
    """The greatest relative and absolute error of one rounding; 0 and 0 for whole numbers."""
    return of_type(computed_in(array)) if array.dtype.kind == "f" else (0.0, 0.0)


def of_type(dtype: Any) -> tuple[float, float]:
    """The same of a floating-point type: half of its epsilon, half of its smallest number."""
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(limits.eps) / 2, float(limits.smallest_subnormal) / 2


def computed_in(array: NDArray[Any]) -> np.dtype[Any]:
    """The narrowest type that holds every number, where enough of them tell it."""
    found = array.dtype
    if found == np.float64 and _fits(array, np.dtype(np.float32)):
        found = np.dtype(np.float32)
    if found == np.float32:
        for narrow in (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)):
            if _fits(array, narrow) and _tells(array, narrow):
                return narrow
    return found


def _fits(array: NDArray[Any], narrow: np.dtype[Any]) -> bool:
    """Whether the last binary places, which the narrow type doesn't have, are 0 everywhere.

    TF32, which has float16's places and float32's range, passes for float16: it is as coarse.
    """
    places = round(of_type(narrow)[0] / of_type(array.dtype)[0])
    bits = array.ravel(order="K").view(f"u{array.dtype.itemsize}")
    last = bits.dtype.type(places - 1)
    start, size = 0, _FIRST
    while start < bits.size:
        if (bits[start : start + size] & last).any():
            return False
        start, size = start + size, _PIECE
    return True


def _tells(array: NDArray[Any], narrow: np.dtype[Any]) -> bool:
    """Whether rounding explains the numbers, and chance doesn't: zeros and ones fit any type.

    There have to be enough different ones, and they must not be whole numbers of one step, so few
    of them that the type holds all: those fit as they are.
    """
    some = np.abs(array.ravel(order="K")[:_PIECE].astype(np.float64))
    some = np.unique(some[np.isfinite(some) & (some > 0)])
    if some.size < _ENOUGH:
        return False
    fraction, exponent = np.frexp(some)
    whole = (fraction * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64)) + exponent - 53
    steps = np.log2(some[-1]) - float(lowest.min())
    unit, _ = of_type(narrow)
    return bool(steps > -np.log2(unit))
