"""What the case says of a value, and how far all roundings up to it may bring another's.

The roundings are tried out: all steps are gone through once, each value moved at random by its own
bound; see `desk`.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from handformer.checking.case import Case, Step
from handformer.checking.compare import Comparison, compare
from handformer.checking.desk import SPREAD, AnyArray, Desk, spread
from handformer.checking.inside import Moved, Numbers
from handformer.checking.slabs import pick
from handformer.checking.theirs import Theirs
from handformer.formula.bounded import Bounding
from handformer.formula.evaluate import At
from handformer.formula.rounding import Rounded

# In right dumps all roundings up to a value brought it no farther than 250 times that of its last
# step (60 drawn ones, and one of GPT-2's size): what is so far off needs no closer look.
FAR = 2.0**11
SAMPLE = 2**16  # entries in which that is looked for


class Reference(Desk):
    """The case's own numbers; none of theirs."""

    def __init__(self, case: Case, unit: float, written: Mapping[str, Theirs]) -> None:
        """`written`: theirs, which tell in which types they computed."""
        super().__init__(case, {}, unit, written=written)

    def number(self, path: str) -> AnyArray:
        """A value as the case has it."""
        return self.case.trace[path]

    def _prepare(self, path: str) -> None:
        """Move what a value's evaluation reads."""
        self._move(path)

    def bounds(self, step: Step, values: Numbers | None = None) -> Bounding:
        """A step under evaluation, on moved values."""
        return super().bounds(step, Moved(self, step) if values is None else values)

    def right_at(self, path: str, at: At | None, bounds: Bounding | None = None) -> Rounded:
        """What the case says, and what rounding explains; at some places of each axis."""
        step = self.case[path]
        value = pick(self.case.trace[path], step, at)
        if step.formula is None or not step.value.dtype.startswith("float"):
            return Rounded(value, np.zeros(value.shape))
        self._prepare(path)
        bounds = bounds or self.bounds(step)
        moved, error = bounds.bounded(step.name, at)
        if at is None and self.case.users(path):
            self._moves(step, moved, error)
        return self._stored(path, value, error + SPREAD * spread(moved - value))

    def far(self, path: str, array: AnyArray, last: float) -> Comparison | None:
        """Their numbers against the case's, if no roundings explain how far they are off.

        That is looked for in some entries. None: it has to be worked out.

        last
            how far the roundings of the last step brought them
        """
        step = self.case[path]
        if not step.value.dtype.startswith("float"):
            return None
        largest = max(abs(float(array.max())), abs(float(array.min())))
        if not np.isfinite(largest):
            return None
        every = -(-array.size // SAMPLE)
        theirs, value = (np.ravel(one)[::every] for one in (array, self.case.trace[path]))
        limit = FAR * max(last, self.rounding(path) * largest)
        found = compare(theirs, Rounded(value, np.broadcast_to(limit, value.shape)))
        if found.fine:
            return None
        place = np.unravel_index(found.difference.place[0] * every, step.value.shape)
        there = tuple(int(one) for one in place)
        return replace(found, difference=replace(found.difference, place=there))
