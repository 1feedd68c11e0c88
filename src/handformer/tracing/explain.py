"""Where one number of a trace comes from, and where it goes: its formula, with the numbers put in.

    print(explain(trace, "blocks.0.attention.scores", (0, 1, 3, 2)))

An explanation is worked out in float64 from the stored numbers that the formula mentions, so that
it can be held against the stored result: what differs has to be within what rounding explains.

terms      what the entry is the sum of, the greatest by magnitude; `rest` is all others together.
           They add up to the value: what multiplies the sum is put to each term, so of
           sum(c, q * k) / sqrt(d_k) a term is q * k / sqrt(d_k). An entry that isn't a sum has one
           term, itself. share: the part of a term in the sum of all magnitudes.
parents    the entries that stand in the formula at this place, after its greatest terms were
           written out; those of an abbreviation where one is mentioned; what conditions and
           look-ups ask. Under the paths where they are made.
users      the entries whose formulas mention this one; None at an axis: all its places.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from handformer.errors import InputError
from handformer.formula import Formula
from handformer.formula.arithmetic import CONSTANTS
from handformer.formula.expand import unroll
from handformer.formula.expression import Rest
from handformer.formula.located import Located
from handformer.formula.mentions import abbreviates, mentions
from handformer.formula.rounding import rounding
from handformer.formula.terms import Term as Part
from handformer.formula.terms import terms as taken_apart
from handformer.tracing.explanation import Explanation, Parent, Term, called
from handformer.tracing.manifest import Value
from handformer.tracing.parents import Parents, Place
from handformer.tracing.trace import Trace
from handformer.tracing.users import WRONG, users

MOST_FOLLOWED = 2000  # explanations in one answer
TERMS = 8


def explain(trace: Trace, path: str, place: Sequence[int], *, terms: int = TERMS) -> Explanation:
    """Explain the entry of the value at `path`, or at a path that others call it.

    Parameters
    ----------
    place
        one whole number an axis, counted from 0
    terms
        how many terms of a sum stand on their own

    Raises
    ------
    InputError
        for an unknown path, a place that isn't there, or numbers that the trace was written without
    """
    try:
        entry = trace.entry(path)
    except KeyError as error:
        ends = [one for one in trace if one.endswith(f".{path}")][:3]
        near = f"unknown value {path}; did you mean {' or '.join(ends)}?"
        raise InputError(near if ends else str(error.args[0])) from None
    if not isinstance(terms, int) or terms < 1:
        raise InputError(f"{terms} terms: expected at least one")
    at = _checked(entry, place)
    _require_kept(trace, entry.path)
    stored = trace[entry.path][at].item()
    using, more = users(trace, entry, at)
    told = Explanation(
        entry.path, at, entry.axes, None, (), None, None, float(stored), stored, None,
        (), None, (), using, more, _tokens(trace, entry, at), kind=entry.kind,
    )  # fmt: skip
    if entry.scope is None:
        return told
    try:
        return _in_formula(trace, entry, told, terms)
    except (InputError, MemoryError):
        raise
    except WRONG as error:
        first = str(error.args[0] if error.args else error).partition("\n")[0]
        raise InputError(f"{told.name}: its formula doesn't fit its numbers: {first}") from None


def follow(
    trace: Trace, path: str, place: Sequence[int], *, terms: int = TERMS, depth: int = 0
) -> Explanation:
    """The same with the explanations of the parents below it, and theirs, so many steps deep.

    A parent that occurs again is explained where it is met first.
    """
    seen: set[tuple[str, Place]] = set()

    def go(path: str, place: Sequence[int], depth: int) -> Explanation:
        if len(seen) > MOST_FOLLOWED:
            raise InputError(
                f"more than {MOST_FOLLOWED:,} numbers stand at this depth: take a smaller depth, "
                "or fewer terms"
            )
        told = explain(trace, path, place, terms=terms)
        seen.add((told.path, told.place))
        if not depth:
            return told
        new = [(one.path, one.place) for one in told.parents]
        new = [one for one in new if one not in seen]
        seen.update(new)
        return replace(told, below=tuple(go(*one, depth - 1) for one in new))

    return go(path, place, depth)


def _in_formula(trace: Trace, entry: Value, told: Explanation, most: int) -> Explanation:
    assert entry.scope is not None
    inside, scope = trace.inside(entry.scope), entry.scope
    sheet, scalars = trace.sheet(scope), trace.scalars(scope)
    name = entry.path.removeprefix(f"{scope}.") if scope else entry.path
    _require_parents(trace, entry, sheet[name])
    located = Located(sheet, name, told.place, inside, scalars)
    expansion = unroll(located, most)
    parents = Parents(trace, scope, located, most)
    parts = taken_apart(located, most)
    return replace(
        told,
        formula=sheet[name],
        abbreviations=tuple(
            sheet[one] for one, kept in _mentioned(trace, scope, sheet[name]) if not kept
        ),
        symbols=expansion.symbols,
        numbers=expansion.numbers,
        value=expansion.value,
        rounding=rounding(located, trace[entry.path].dtype),
        terms=tuple(_term(parents, part) for part in parts.greatest),
        rest=Rest(parts.others, parts.rest) if parts.others else None,
        parents=tuple(
            Parent(path, at, trace[path][at].item())
            for path, at in parents.of(expansion.symbols, asked=True)
        ),
    )


def _term(parents: Parents, part: Part) -> Term:
    found = tuple(parents.of(part.node))
    return Term(part.node, part.value, part.share, found, parents.token(part))


def _checked(entry: Value, place: Sequence[int]) -> Place:
    """The place as a tuple of whole numbers.

    Raises
    ------
    InputError
        where the value has no such place
    """
    if not all(isinstance(at, int | np.integer) for at in place):
        raise InputError(f"{entry.path}: expected whole numbers as indices, found {tuple(place)}")
    letters, shape = ",".join(entry.axes), ", ".join(map(str, entry.shape))
    if len(place) != len(entry.shape):
        expected = f"{len(entry.shape)} for [{letters}]" if entry.shape else "none: it has no axes"
        raise InputError(f"{entry.path} was given {len(place)} indices: expected {expected}")
    for letter, at, size in zip(entry.axes, place, entry.shape, strict=True):
        if not 0 <= at < size:
            raise InputError(
                f"{called(entry.path, place)}: {letter} = {at} isn't there: expected 0 to "
                f"{size - 1}; the shape of [{letters}] is ({shape})"
            )
    return tuple(map(int, place))


def _require_kept(trace: Trace, path: str) -> None:
    if path not in trace:
        raise InputError(f"{path} isn't in this trace: it was written without it")


def _require_parents(trace: Trace, entry: Value, formula: Formula) -> None:
    """Refuse where the trace was written without something that the formula needs."""
    assert entry.scope is not None
    for name in (one for one, kept in _mentioned(trace, entry.scope, formula) if kept):
        path = f"{entry.scope}.{name}" if entry.scope else name
        try:
            parent = trace.entry(path)
        except KeyError:
            continue  # the formula itself says so, with the near names
        if not parent.kept:
            raise InputError(
                f"{entry.path} can't be explained: it needs {parent.path}, and the trace was "
                "written without it"
            )
        cut = trace.manifest.positions is not None and "t" in parent.axes
        if cut and "t" not in parent.source:
            raise InputError(
                f"{entry.path} can't be explained: the trace holds only some positions of "
                f"{parent.path}; trace again without --positions"
            )


def _mentioned(trace: Trace, scope: str, formula: Formula) -> Iterator[tuple[str, bool]]:
    """The names that a formula mentions, and its abbreviations; those are not kept."""
    sheet, scalars, inside = trace.sheet(scope), trace.scalars(scope), trace.inside(scope)

    def short(name: str) -> bool:
        return name not in inside and abbreviates(sheet, name)

    for name, placed in mentions(sheet, [formula], short).items():
        if short(name) or placed or (name not in scalars and name not in CONSTANTS):
            yield name, not short(name)


def _tokens(trace: Trace, entry: Value, place: Place) -> dict[str, str]:
    """The spellings of the tokens at a place: along the positions, and of a vocabulary entry."""
    row = place[entry.axes.index("b")] if "b" in entry.axes else 0
    found: dict[str, str] = {}
    for letter, at in zip(entry.axes, place, strict=True):
        words = trace.words(entry.path, letter, row)
        if words is not None and at < len(words):
            found[letter] = words[at]
    return found
