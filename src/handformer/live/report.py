"""What was found about somebody else's op."""

from dataclasses import dataclass

from handformer.checking.report import Cause, Difference


@dataclass(frozen=True)
class Local:
    """One value of one case, against its formula.

    difference
        the entry that is farthest off; None: it couldn't be compared
    problem
        what is wrong with the value as such, its shape or type; empty: nothing
    causes
        the mistakes that reproduce it
    """

    value: str
    case: str
    difference: Difference | None
    problem: str = ""
    causes: tuple[Cause, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether rounding explains all of it."""
        return not self.problem and self.difference is not None and not self.difference.count


@dataclass(frozen=True)
class Reached:
    """One value of a model in which theirs stands: the loss, or a gradient.

    theirs, ours
        how far the model is from one in float64, with theirs and with ours; relative to the
        greatest entry
    allowed
        how far rounding took models with ours, and a margin
    """

    path: str
    theirs: float
    ours: float
    allowed: float

    @property
    def fine(self) -> bool:
        """Whether rounding explains it."""
        return self.theirs <= self.allowed


@dataclass(frozen=True)
class InModel:
    """One model in which theirs stood in place of ours.

    calls
        how often it was called
    loss, right
        the loss with theirs, and in float64
    values
        the loss first, then the gradients in the order of the computation
    problem
        what went wrong at a call; empty: nothing
    """

    model: str
    calls: int
    loss: float
    right: float
    values: tuple[Reached, ...]
    problem: str = ""

    @property
    def fine(self) -> bool:
        """Whether all values are as they should be."""
        return not self.problem and all(one.fine for one in self.values)

    @property
    def worst(self) -> tuple[Reached, ...]:
        """The values from the one that is farthest off, as a multiple of what is allowed."""
        return tuple(sorted(self.values, key=lambda one: -one.theirs / one.allowed))


@dataclass(frozen=True)
class Speed:
    """Theirs and ours in turns: medians of seconds a call."""

    theirs: float
    ours: float
    shapes: str
    rounds: int

    @property
    def ratio(self) -> float:
        """How many times as long theirs takes."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class OpReport:
    """Somebody else's op, alone, in models, and against the clock.

    op, direction, given
        what was asked, and what stood in: a library, a function, a command
    broken
        why the check couldn't go on: a crash, a timeout; empty: it went on
    missing
        values that they left to us
    notes
        what else is to be known
    """

    op: str
    direction: str
    given: str
    local: tuple[Local, ...] = ()
    models: tuple[InModel, ...] = ()
    speed: Speed | None = None
    broken: str = ""
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[Local, ...]:
        """The values that are wrong by themselves."""
        return tuple(one for one in self.local if not one.fine)

    @property
    def fine(self) -> bool:
        """Whether something was compared, and all of it agrees."""
        ended = bool(self.broken) or not self.local
        return not ended and not self.wrong and all(one.fine for one in self.models)
