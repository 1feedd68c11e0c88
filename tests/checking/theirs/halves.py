"""Numbers as they are after a cast to half precision and back."""

from typing import Any

import numpy as np


def bfloat16(array: Any) -> Any:
    """Seven bits after the leading one, ties to even."""
    if hasattr(array, "through"):
        return array.through(bfloat16)
    bits = np.asarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.asarray(array).dtype)


def float16(array: Any) -> Any:
    """Ten bits after the leading one; infinite from 65520 on."""
    if hasattr(array, "through"):
        return array.through(float16)
    with np.errstate(over="ignore"):
        return np.asarray(array).astype(np.float16).astype(np.asarray(array).dtype)
