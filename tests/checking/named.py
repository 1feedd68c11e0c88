"""What the check says of each mistake that the program by hand makes."""

from collections.abc import Iterator
from dataclasses import dataclass

from handformer.checking.api import check
from handformer.checking.report import Status
from tests.checking.theirs import model, probes
from tests.checking.theirs.rows import ROWS, id_of


@dataclass(frozen=True)
class Outcome:
    """The first wrong value of a dump, and the rows that were named there.

    caught
        whether there is one, where the row says
    named
        whether the row is among the names, or one that gives the same numbers; of a dump in another
        order of axes, whether that is said
    """

    path: str
    caught: bool
    named: bool
    ids: tuple[str, ...]


# What is caught and has no name, and why no edit of a formula makes it.
UNNAMED = {
    "POS-9:concatenated": "everything that follows is wider, and the weights are others",
    "FFN-9": "the weights are of another width",
}


def outcome(name: str, family: str) -> Outcome:
    """Make a mistake in a model, dump, and check."""
    row = ROWS[name]
    case = probes.case(family, row.probe)
    dump = model.run(case, [name], dtype=row.dtype, weights=row.weights)
    report = check(dump, probes.trace(family, row.probe))
    first = report.first
    if first is None:
        return Outcome("", row.kind == "layout", row.kind == "layout", ())
    ids = tuple(dict.fromkeys(cause.id for cause in first.causes))
    lies = row.kind == "layout" and first.status is Status.LAYOUT
    named = lies or bool({id_of(name), *row.alike} & {*ids})
    return Outcome(first.path, row.begins(first.path) or row.kind == "layout", named, ids)


def forms() -> Iterator[tuple[str, str]]:
    """Every form of every row with a model in which it can be made, and with another in turn."""
    for place, (name, row) in enumerate(ROWS.items()):
        first, *others = row.families
        yield name, first
        if others:
            yield name, others[place % len(others)]
