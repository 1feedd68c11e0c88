"""What can be said of a wrong value that no known mistake reproduces: a sentence for each sight.

None of this is a diagnosis. Each of it says where somebody should look.
"""

from collections.abc import Iterator

import numpy as np

from handformer.checking.case import Step
from handformer.checking.compare import AnyArray
from handformer.checking.desk import Desk
from handformer.checking.hints.likeness import likeness
from handformer.checking.hints.numbers import numbers
from handformer.checking.hints.places import places
from handformer.checking.hints.sums import sums
from handformer.formula.rounding import Rounded


def hints(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> tuple[str, ...]:
    """What is seen, the most telling first."""
    return tuple(_seen(desk, step, theirs, right))


def _seen(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> Iterator[str]:
    found = np.asarray(theirs, np.float64)
    yield from likeness(desk, step, found, right)
    finite = np.isfinite(found) & np.isfinite(np.asarray(right.value, np.float64))
    if finite.all():
        yield from numbers(desk, step, found, right)
        yield from sums(desk, step, found, right)
    yield from places(desk, step, found, right)
