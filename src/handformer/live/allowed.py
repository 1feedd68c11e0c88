"""What a value should be, and how far rounding may take every entry of it from there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking import compare as comparing
from handformer.checking.report import Difference
from handformer.formula import Sheet
from handformer.formula.evaluate import Scalars, Values
from handformer.formula.rounding import Rounded, bounded

UNIT = float(np.finfo(np.float32).eps) / 2
_FEW = 8  # roundings


def compare(
    sheet: Sheet, name: str, values: Values, scalars: Scalars, found: NDArray[Any]
) -> Difference:
    """A float32 array against its formula on given values: the entry that is farthest off.

    Where a bound overflows, as that of x / (1 + exp(800)) does, it is a few roundings of the entry.
    """
    right = bounded(sheet, name, values, scalars, unit=UNIT)
    few = _FEW * UNIT * np.abs(1.0 * right.value) + float(np.finfo(np.float32).tiny)
    error = np.where(np.isnan(right.error), few, right.error)
    whole = Rounded(np.asarray(right.value), error)
    return comparing.compare(found, whole).difference
