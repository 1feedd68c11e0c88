"""One array of somebody's dump, under our path and in our order of axes."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Theirs:
    """What they wrote of one value.

    path, called
        our path of it, and their name
    array
        their numbers: floating point, whole numbers or truth values
    unit
        the greatest relative error of one rounding in the type in which they were computed and
        stored: 2**-24 for float32; 0 for whole numbers
    quantum
        half of the last decimal place, where numbers were written with so many: 5e-5 for 0.1234
    axes
        the order of axes in which it was written, where a naming convention or the user tells it;
        `array` is in our order then
    note
        how it was read, if that isn't plain
    """

    path: str
    called: str
    array: NDArray[Any]
    unit: float
    quantum: float = 0.0
    axes: tuple[str, ...] = ()
    note: str = ""
