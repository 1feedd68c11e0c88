"""The entries of other values whose formulas mention an entry: where a number goes."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from handformer.formula import Formula, Sheet
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
            sheet = trace.sheet(scope)
            for formula in sheet:
                if formula.kept and name in _mentioned(sheet, formula, trace.scalars(scope)):
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


def _mentioned(sheet: Sheet, formula: Formula, scalars: Container[str]) -> set[str]:
    """The names on the right of a formula, and on those of its abbreviations.

    A bare `d_k` is the width of a head, not the gradient of k.
    """
    waiting, found = [formula], set[str]()
    while waiting:
        one = waiting.pop()
        for name in {*one.inputs, *(n for n in one.scalars if n not in scalars)} - found:
            found.add(name)
            if name in sheet and not sheet[name].kept:
                waiting.append(sheet[name])
    return found
