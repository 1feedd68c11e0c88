"""The entries of other values whose formulas mention an entry: where a number goes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from handformer.formula import Formula
from handformer.formula.mentions import abbreviates, mentions
from handformer.formula.users import Somewhere
from handformer.formula.users import users as solve
from handformer.tracing.manifest import Value
from handformer.tracing.trace import Trace

Place = tuple[int, ...]
# What a formula raises that doesn't fit the numbers of a trace, which anybody may have written.
WRONG = (ValueError, LookupError, ArithmeticError, RecursionError)
_MOST = 64  # entries of one value: a token may occur a thousand times


@dataclass(frozen=True)
class User:
    """Entries that use a number: a path, and a place in which None is every place of an axis."""

    path: str
    place: Somewhere


def users(trace: Trace, entry: Value, place: Place) -> tuple[tuple[User, ...], int]:
    """What uses an entry, in the order of the layers, and how many more do.

    Of one value at most 64 entries are named. What the trace was written without is left out.
    """
    more = 0
    found: dict[User, None] = {}
    for path in (entry.path, *entry.also):
        for scope, name in _scopes(trace, path):
            for formula in trace.sheet(scope):
                if formula.kept and _mentions(trace, scope, formula, name):
                    using = _of(trace, scope, formula, name, place)
                    more += len(using[_MOST:])
                    found |= dict.fromkeys(using[:_MOST])
    itself = User(entry.path, place)  # under another name, where a dropout keeps everything
    return tuple(user for user in found if user != itself), more


def _scopes(trace: Trace, path: str) -> Iterator[tuple[str, str]]:
    """The layers that can mention a path, each with the name that it has there."""
    placed = {scope.path for scope in trace.manifest.scopes}
    parts = path.split(".")
    for cut in range(len(parts)):
        scope = ".".join(parts[:cut])
        if scope in placed:
            yield scope, ".".join(parts[cut:])


def _mentions(trace: Trace, scope: str, formula: Formula, name: str) -> bool:
    """Whether a formula mentions a value of this name, and no bare number of the layer."""
    sheet = trace.sheet(scope)
    found = mentions(sheet, [formula], partial(abbreviates, sheet))
    return name in found and (found[name] or name not in trace.scalars(scope))


def _of(trace: Trace, scope: str, formula: Formula, name: str, place: Place) -> list[User]:
    path = f"{scope}.{formula.name}" if scope else formula.name
    if path not in trace:
        return []
    try:
        places = solve(
            trace.sheet(scope), formula.name, name, place, trace.inside(scope),
            trace.scalars(scope),
        )  # fmt: skip
    except WRONG:  # a part of the formula isn't in the trace
        return []
    entry = trace.entry(path)
    return [User(entry.path, one) for one in places]
