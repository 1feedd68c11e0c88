"""What came of computing the same thing in two ways: every value that both have, held together."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.invariants import SMALLEST

AnyArray = NDArray[Any]
Place = tuple[int, ...]

# Both ways compute in float64 and differ in the order of their sums: about 1e-14 of the largest
# entry, in deep models 1e-12. A mistake in a position or a mask is seen at 1e-3 and more.
TOLERANCE = 1e-9
REASON = (
    "both ways are computed in float64, where other orders of summing change about 1e-14 of the "
    f"largest entry; what changes more than {TOLERANCE:g} isn't rounding"
)


@dataclass(frozen=True)
class Compared:
    """One value, where the two ways are farthest apart.

    off
        the greatest difference, as a part of the largest entry; infinite where one isn't a number
        or of another shape
    place, found, right
        the entry: its indices, what the one way gives and the other
    where
        in which piece or row that was
    """

    path: str
    off: float
    place: Place
    found: float
    right: float
    where: str

    @property
    def fine(self) -> bool:
        """Whether rounding explains it."""
        return self.off <= TOLERANCE


@dataclass(frozen=True)
class Agreement:
    """Whether two ways agree.

    asked
        what was compared, in words
    model
        the family
    values
        each value, in the order of the computation
    """

    asked: str
    model: str
    values: tuple[Compared, ...]

    @property
    def first(self) -> Compared | None:
        """The first value that differs."""
        return next((one for one in self.values if not one.fine), None)

    @property
    def greatest(self) -> Compared | None:
        """The value that is farthest off."""
        return max(self.values, key=lambda one: one.off, default=None)

    @property
    def fine(self) -> bool:
        """Whether all agree, and anything was compared."""
        return bool(self.values) and self.first is None

    def text(self) -> str:
        """A few lines for a terminal."""
        lines = [f"{self.asked} ({self.model})"]
        if self.first is None and self.greatest is not None:
            lines.append(
                f"{len(self.values)} values agree; the greatest difference is "
                f"{self.greatest.off:.1e} of the largest entry, at {self.greatest.path}"
            )
        elif self.first is not None:
            one, count = self.first, sum(not value.fine for value in self.values)
            at = ",".join(map(str, one.place))
            lines.append(
                f"{one.path} is the first of {count} values that differ: {one.found:.6g} at "
                f"[{at}], expected {one.right:.6g} ({one.where})"
            )
        return "\n".join([*lines, f"Tolerance {TOLERANCE:g}: {REASON}."])

    def json(self) -> dict[str, Any]:
        """All of it, for programs; null stands for what isn't finite."""
        return {
            "asked": self.asked,
            "model": self.model,
            "fine": self.fine,
            "first": None if self.first is None else self.first.path,
            "tolerance": TOLERANCE,
            "reason": REASON,
            "values": [
                {key: _number(part) for key, part in asdict(one).items()} | {"fine": one.fine}
                for one in self.values
            ],
        }


def compare(path: str, found: AnyArray, right: AnyArray, where: str) -> Compared:
    """One value in two ways; `found` may lack axes along which `right` only repeats itself."""
    try:
        one = np.broadcast_to(found, right.shape).astype(np.float64)
    except ValueError:
        return Compared(path, np.inf, (), np.nan, np.nan, f"{where}: {found.shape}")
    other = right.astype(np.float64)
    if not right.size:
        return Compared(path, 0.0, (), 0.0, 0.0, where)
    with np.errstate(invalid="ignore"):
        apart = np.where(one == other, 0.0, np.abs(one - other))
    apart = np.where(np.isnan(apart), np.inf, apart)
    place = np.unravel_index(int(apart.argmax()), apart.shape)
    seen = np.abs(other[np.isfinite(other)])
    size = float(max(seen.max(initial=0.0), SMALLEST))
    return Compared(
        path,
        float(apart[place]) / size,
        tuple(int(index) for index in place),
        float(one[place]),
        float(other[place]),
        where,
    )


def worst(values: Iterable[Compared]) -> tuple[Compared, ...]:
    """Of each path the one that is farthest off, in the order in which paths first come."""
    found: dict[str, Compared] = {}
    for one in values:
        if one.path not in found or one.off > found[one.path].off:
            found[one.path] = one
    return tuple(found.values())


def _number(part: Any) -> Any:
    return None if isinstance(part, float) and not np.isfinite(part) else part
