"""What a check found: a verdict on every value, in the order of the computation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray

Place = tuple[int, ...]


class Status(StrEnum):
    """What is said of one value.

    RIGHT
        it agrees, within what rounding explains
    INHERITED
        it differs from the reference, and follows rightly from their own earlier values
    WRONG
        it doesn't follow from their own earlier values: a mistake was made here
    LAYOUT
        the numbers are right, and lie in another order of axes than was said
    UNREADABLE
        it can't be compared: another shape, no numbers, a type that it can't have
    MISSING
        they didn't write it
    """

    RIGHT = "right"
    INHERITED = "inherited"
    WRONG = "wrong"
    LAYOUT = "layout"
    UNREADABLE = "unreadable"
    MISSING = "missing"


BAD = (Status.WRONG, Status.LAYOUT, Status.UNREADABLE)


@dataclass(frozen=True)
class Cause:
    """A mistake that reproduces their numbers.

    id
        the row of the catalogue, as in SCALE-1
    wrong, cure
        a sentence each: what was done, and what to do
    at
        the path of the value whose formula has it: an earlier one, where that isn't in their dump
    formula
        the formula with the mistake in it, as text
    link
        where the catalogue explains it
    right
        the same formula without the mistake, as text
    """

    id: str
    wrong: str
    cure: str
    at: str
    formula: str
    link: str
    right: str = ""


@dataclass(frozen=True)
class Difference:
    """The entry that is farthest off, as a multiple of what rounding explains there.

    theirs, right
        their number, and what it should be
    off, allowed
        how far they are apart, and what rounding explains; where that is much, no less than it does
    place
        its indices, in our order of axes
    count, of
        how many entries are farther off than rounding explains, of how many that were looked at
    """

    theirs: float
    right: float
    off: float
    allowed: float
    place: Place
    count: int
    of: int


@dataclass(frozen=True)
class Verdict:
    """What is said of one value.

    path, called
        our path of it, and their name
    axes, shape
        the letters of its axes, and their lengths
    local
        against our step applied to their own earlier values; None: it couldn't be compared
    against
        against the reference; None: it couldn't be compared
    causes
        the mistakes that reproduce it; several, if one value doesn't tell them apart
    hints
        a sentence each: what can be said where no known mistake reproduces it
    since
        the paths of the wrong values that it inherits from
    note
        how it was read, if that isn't plain
    reads
        of a wrong value the paths of the earlier values in its formula
    """

    path: str
    status: Status
    called: str = ""
    axes: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    local: Difference | None = None
    against: Difference | None = None
    causes: tuple[Cause, ...] = ()
    hints: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    note: str = ""
    reads: tuple[str, ...] = ()

    @property
    def backward(self) -> bool:
        """Whether it is a gradient."""
        return self.path.rpartition(".")[2].startswith("d_")


@dataclass(frozen=True, repr=False)
class Report:
    """A whole check. `print(report)` shows what the terminal shows.

    case, dump
        what was held against what
    verdicts
        of every value that the case expects, in the order of the computation, those that are
        missing in the dump among them; and of weights and inputs that they wrote
    unknown
        their names that nothing here goes by, with the near ones
    aside
        their names that are known, and why nothing in the case goes by them
    seconds
        how long it took
    theirs, right
        the arrays by our path, in our order of axes: what they wrote, and what it should have been
        with their own earlier values (only of what differs); for a page that shows them
    """

    case: str
    dump: str
    verdicts: tuple[Verdict, ...]
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aside: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    theirs: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    right: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    @property
    def bad(self) -> tuple[Verdict, ...]:
        """The values at which something is wrong, in the order of the computation."""
        return tuple(one for one in self.verdicts if one.status in BAD)

    @property
    def first(self) -> Verdict | None:
        """The first step that is wrong."""
        return next(iter(self.bad), None)

    @property
    def compared(self) -> int:
        """How many values were compared."""
        return sum(v.status not in (Status.MISSING, Status.UNREADABLE) for v in self.verdicts)

    @property
    def fine(self) -> bool:
        """Whether all that was compared agrees, and anything was, and every name is known."""
        return bool(self.compared) and not self.bad and not self.unknown

    def __repr__(self) -> str:
        said = "fine" if self.fine else "not fine"
        return f"Report of {self.dump} against {self.case}: {said}"

    def __str__(self) -> str:
        from handformer.checking.show.text import plain  # noqa: PLC0415 (it brings Rich)

        return plain(self)
