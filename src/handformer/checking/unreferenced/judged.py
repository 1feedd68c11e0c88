"""A deviation against what rounding explains: the worst place, and how many are too far off."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.seen import Given

FEW = 8  # roundings of a quotient, an exponential, and what is of second order
BLIND = 16  # more, where what a difference was taken of isn't in the dump
_TINY = float(np.finfo(np.float64).tiny)


def judged(
    one: Given,
    question: str,
    off: NDArray[Any],
    allowed: Any,
    *,
    means: str,
    hints: tuple[str, ...] = (),
    said: str = "",
) -> Asked:
    """The answer to a question: `off` must be no more than `allowed`, place by place.

    What isn't a number is infinitely far off.
    """
    far = np.abs(np.where(np.isfinite(off), off, np.inf))
    bound = np.broadcast_to(np.asarray(allowed, dtype=np.float64), far.shape)
    if not far.size:
        return Asked(one.path, one.called, question, True)
    times = np.where(far <= bound, far / np.maximum(bound, _TINY), np.inf)
    times = np.where(far > bound, 1 + far / np.maximum(bound, _TINY), times)
    place = np.unravel_index(int(times.argmax()), times.shape)
    count = int((far > bound).sum())
    return Asked(
        one.path, one.called, question, not count, float(far[place]), float(bound[place]),
        tuple(int(at) for at in place), count, far.size, said,
        means if count else "", hints if count else (),
    )  # fmt: skip
