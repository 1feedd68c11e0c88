"""Hold their numbers of one value against what they should be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.report import Difference
from handformer.formula.rounding import Rounded

AnyArray = NDArray[Any]
Floats = NDArray[np.float64]
PIECE = 2**16  # entries that are looked at together: they stay in the cache


@dataclass(frozen=True)
class Comparison:
    """All entries of a value.

    worst
        how far the farthest entry is off, as a multiple of what rounding explains: fine up to 1
    most
        how far entries are off, at most, in their own unit
    difference
        that entry; of those that are too far off, the one that is farthest away
    """

    worst: float
    most: float
    difference: Difference

    @property
    def fine(self) -> bool:
        """Whether all entries agree within what rounding explains."""
        return self.difference.count == 0


def compare(theirs: AnyArray, right: Rounded) -> Comparison:
    """Compare every entry."""
    worst, at, count, farthest, far, most = 0.0, 0, 0, -1.0, 0, 0.0
    for start, found, value, error in _pieces(theirs, right):
        over, apart = _over(found, value, error)
        most = max(most, float(apart.max()))
        place = int(over.argmax())
        if over[place] > worst:
            worst, at = float(over[place]), start + place
        wrong = over > 1
        if wrong.any():
            count += int(np.count_nonzero(wrong))
            place = int(np.where(wrong, apart, -1.0).argmax())
            if apart[place] > farthest:
                farthest, far = float(apart[place]), start + place
    there = np.unravel_index(far if count else at, theirs.shape)
    number, value_there = float(theirs[there]), float(right.value[there])
    return Comparison(
        worst,
        most,
        Difference(
            theirs=number,
            right=value_there,
            off=abs(number - value_there) if number != value_there else 0.0,
            allowed=float(right.error[there]),
            place=tuple(int(one) for one in there),
            count=count,
            of=theirs.size,
        ),
    )


def together(parts: Sequence[tuple[int, Comparison]], axis: int = 0) -> Comparison:
    """Comparisons of parts as one of the whole; each begins at some place along an axis."""
    if len(parts) == 1 and not parts[0][0]:
        return parts[0][1]

    def farther(part: tuple[int, Comparison]) -> tuple[bool, float]:
        off, worst = part[1].difference.off, part[1].worst
        wrong = not part[1].fine
        return wrong, (np.inf if np.isnan(off) else off) if wrong else worst

    start, most = max(parts, key=farther)
    place = list(most.difference.place)
    place[axis] += start
    found = replace(
        most.difference,
        place=tuple(place),
        count=sum(part.difference.count for _, part in parts),
        of=sum(part.difference.of for _, part in parts),
    )
    worst, greatest = (max(getattr(part, name) for _, part in parts) for name in ("worst", "most"))
    return Comparison(worst, greatest, found)


def excess(theirs: AnyArray, right: Rounded) -> Floats:
    """How far off each entry is, as a multiple of what rounding explains."""
    found = [_over(found, value, error)[0] for _, found, value, error in _pieces(theirs, right)]
    return np.concatenate([*found, np.empty(0)]).reshape(theirs.shape)


def _pieces(theirs: AnyArray, right: Rounded) -> Iterator[tuple[int, Floats, Floats, Floats]]:
    flat = [np.ravel(part) for part in (theirs, right.value, right.error)]
    for start in range(0, theirs.size, PIECE):
        pieces = (part[start : start + PIECE] for part in flat)
        found, value, error = (part.astype(np.float64, copy=False) for part in pieces)
        yield start, found, value, error


def _over(found: Floats, value: Floats, error: Floats) -> tuple[Floats, Floats]:
    """How far off entries are as a multiple of what is allowed, and how far they are off.

    Numbers that aren't finite have to be the same ones. Where nothing bounds the error, because a
    divisor may be 0, nothing can be said. Nothing is explained of whole numbers.
    """
    with np.errstate(all="ignore"):
        apart = np.abs(found - value)
        over = apart / error
    over[apart == 0] = 0.0
    if not np.isfinite(over.sum()):
        odd = ~(np.isfinite(found) & np.isfinite(value))
        same = (found == value) | (np.isnan(found) & np.isnan(value))
        for part in (over, apart):
            part[odd] = np.inf
            part[same] = 0.0
        over[np.isnan(over)] = np.inf
    return over, apart
