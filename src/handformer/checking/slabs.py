"""Large values are held against what they should be a slab at a time."""

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.case import Step
from handformer.checking.compare import Comparison, compare, together
from handformer.checking.inside import Numbers
from handformer.formula.evaluate import At
from handformer.formula.expression import Entry, free, walk
from handformer.formula.frame import some

if TYPE_CHECKING:
    from handformer.checking.desk import Desk

AnyArray = NDArray[Any]
SLAB = 2**19  # entries that are worked out at once
SMALL = 2**16  # so few aren't worth a second thread


class Slabs:
    """A value in pieces.

    axis
        along which it is cut
    places
        those of each slab, along the axis
    """

    def __init__(self, desk: "Desk", step: Step, least: int) -> None:
        """`desk`: where the value is worked out; `least`: how many there are to be, if they can."""
        self.desk, self.step = desk, step
        self._bounds = desk.bounds(step)  # one for all: what they share is worked out once
        shape = step.value.shape
        count = max(-(-prod(shape) // SLAB), least)
        good = (n for n, size in enumerate(shape) if size >= count and self._reads_little(n, count))
        self.axis = next(good, int(np.argmax(shape)))
        length = shape[self.axis]
        thick = max(length // count, 1)
        self.places = [range(n, min(n + thick, length)) for n in range(0, length, thick)]

    def _reads_little(self, axis: int, count: int) -> bool:
        """Whether all slabs along an axis together don't read much more than the value is large.

        A product of a few rows with a large matrix is cut along the matrix's columns: each slab of
        rows would need all of it.
        """
        letter, values = self.step.value.axes[axis], Numbers(self.desk, self.step)
        whole = {
            one.name
            for one in walk(self.desk.stated(self.step)[0][self.step.name].body)
            if isinstance(one, Entry) and one.name in values and letter not in free(one)
        }
        read = count * sum(values[name].size for name in whole)
        return read <= prod(self.step.value.shape)

    def at(self, places: range) -> At:
        """Places of the axis, for a formula."""
        return {self.step.value.axes[self.axis]: places}

    def held(self, array: AnyArray, lane: int, count: int) -> Comparison:
        """Their numbers in every so manieth slab against what they should be."""
        found = [self.slab(array, places) for places in self.places[lane::count]]
        return together(found, self.axis)

    @np.errstate(all="ignore")  # a thread begins with NumPy's own
    def slab(self, array: AnyArray, places: range) -> tuple[int, Comparison]:
        """Where a slab begins, and what is found of their numbers in it."""
        at = self.at(places)
        right = self.desk.right_at(self.step.path, at, self._bounds)
        return places.start, compare(pick(array, self.step, at), right)


def pick(array: AnyArray, step: Step, at: At | None) -> AnyArray:
    """Some places of each axis of an array; None: all of it."""
    if at is None:
        return array
    for axis, letter in enumerate(step.value.axes):
        if letter in at:
            array = some(array, at[letter], axis)
    return array
