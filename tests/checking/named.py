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
        whether the row is among the names, or the only thing wrong is what the row says of the
        dump: another shape, or another order of axes
    """

    path: str
    caught: bool
    named: bool
    ids: tuple[str, ...]


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
    told = {"layout": Status.LAYOUT, "shape": Status.UNREADABLE}.get(row.kind)
    named = bool({id_of(name), *row.alike} & {*ids}) or first.status is told
    return Outcome(first.path, row.begins(first.path) or row.kind == "layout", named, ids)


def forms(families: bool = True) -> Iterator[tuple[str, str]]:
    """Every form of every row with the models in which it can be made, or the first of them."""
    for name, row in ROWS.items():
        for family in row.families if families else row.families[:1]:
            yield name, family
