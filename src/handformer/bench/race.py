"""A race: contestants in turn, round after round, so that all have the same weather.

One works while the others wait, and in every round the machine's own limit is measured too. So a
clock that slows down, or a neighbour that comes, doesn't favour anybody; medians are compared.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from handformer.bench.contestant import Contestant, GoneError, Round, Running
from handformer.bench.contests import MACHINE, Contest

PIECE = 0.25  # seconds of work in a round at least: a short step is to run as warm as in a training
_PAUSE = 0.05  # between two contestants: the threads of a library wait busily for a while

Tell = Callable[[str], None]
Live = list[tuple["Entry", Running]]


@dataclass
class Entry:
    """How one contestant did: the seconds of each piece of work, and why there are none."""

    contestant: Contestant
    facts: dict[str, Any] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    peak: int = 0
    absent: str = ""
    failed: str = ""

    @property
    def seconds(self) -> float | None:
        """The median; None where it never got so far."""
        return median(self.times) if self.times and not self.failed else None

    def take(self, done: Round) -> None:
        """Add a round."""
        self.times += done.times
        self.peak = max(self.peak, done.peak)
        self.facts |= done.told

    def lose(self, gone: GoneError) -> None:
        """Remember why it has gone."""
        if gone.absent:
            self.absent = str(gone)
        else:
            self.failed = str(gone)


@dataclass
class Result:
    """A contest that is over; operations and bytes a second are the machine's medians in it."""

    contest: Contest
    entries: list[Entry]
    operations_per_second: float
    bytes_per_second: float


def run(contest: Contest, *, rounds: int, threads: int, tell: Tell) -> Result:
    """Let the contestants of one contest compete; `tell` hears who is at work.

    Raises
    ------
    GoneError
        where the machine's own limit can't be measured
    """
    entries = [Entry(contestant) for contestant in contest.contestants]
    where = f"{contest.shape.name} {contest.task}"
    limits: list[tuple[float, float]] = []
    with ExitStack() as stack:
        tell(f"{where}: everybody gets ready")
        live = _begun(stack, entries, threads)
        each = dict[str, float]()
        for entry, running in [*live]:
            tell(f"{where}: {entry.contestant.name} warms up")
            with _losing(entry, live):
                each[entry.contestant.name] = max(PIECE, running.work(0).times[0]) + _PAUSE
        for number in range(rounds):
            for entry, running in [*live]:
                left = (rounds - number) * sum(each.values())
                name = entry.contestant.name
                tell(f"{where}: {name}, round {number + 1} of {rounds}, up to {left:.0f} s left")
                time.sleep(_PAUSE)
                with _losing(entry, live):
                    entry.take(running.work(PIECE))
                if name == MACHINE:
                    told = entry.facts
                    limits.append((told["operations_per_second"], told["bytes_per_second"]))
    shown = [entry for entry in entries if entry.contestant.name != MACHINE]
    return Result(contest, shown, *(median(column) for column in zip(*limits, strict=True)))


def _begun(stack: ExitStack, entries: list[Entry], threads: int) -> Live:
    """Those who are ready. They begin at the same time: some have much to load."""
    live: Live = []
    for entry in entries:
        with _losing(entry, live):
            live.append((entry, stack.enter_context(Running(entry.contestant, threads))))
    for entry, running in [*live]:
        with _losing(entry, live):
            entry.facts = running.ready()
    return live


@contextmanager
def _losing(entry: Entry, live: Live) -> Iterator[None]:
    """One who breaks down doesn't keep the others from going on; without the machine they can't."""
    try:
        yield
    except GoneError as gone:
        if entry.contestant.name == MACHINE:
            raise
        entry.lose(gone)
        live[:] = [(other, running) for other, running in live if other is not entry]
