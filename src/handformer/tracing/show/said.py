"""What every form of an explanation says, in the same words."""

from collections.abc import Iterable, Iterator
from typing import Any

from handformer.axes import LEGEND
from handformer.formula.expression import Entry, Node, Number, Scalar
from handformer.formula.render import number
from handformer.formula.rounded import DIGITS
from handformer.tracing.explanation import Explanation, Term, called
from handformer.tracing.users import User

_GIVEN = {
    "input": "given from outside: no formula",
    "weight": "given from outside: no formula",
    "lens": "by the model's own last norm and head: no formula here",
}
_CUT = "only some positions were kept: no formula fits them"
TERMS, PARENTS, USERS = "the terms of its sum", "comes from", "is used by"
_MOST_USERS = 12


def every(told: Explanation) -> Iterator[Explanation]:
    """An explanation and all those below it."""
    yield told
    for below in told.below:
        yield from every(below)


def short(value: Any) -> str:
    """A number to four digits; whole numbers and truth values as they are."""
    return number(value, DIGITS)


def where(told: Explanation) -> list[str]:
    """The place on each axis, in words: `t 3 (query position) ' cat'`."""
    spelled = told.tokens
    return [
        f"{letter} {at}"
        + (f" ({LEGEND[letter].partition(':')[0]})" if letter in LEGEND else "")
        + (f" '{spelled[letter]}'" if letter in spelled else "")
        for letter, at in zip(told.axes, told.place, strict=True)
    ]


def given(told: Explanation) -> str:
    """Why there is no formula."""
    return _GIVEN.get(told.kind, _CUT)


def left(name: str, places: Iterable[Node]) -> Node:
    """The left side of an equation."""
    inside = tuple(places)
    return Entry(name, inside) if inside else Scalar(name)


def here(told: Explanation) -> Node:
    """The left side for this entry, under the name that the formula has."""
    name = told.path if told.formula is None else told.formula.name
    return left(name, map(Number, told.place))


def result(told: Explanation) -> Any:
    """What the formula comes to, in the kind of number that is stored."""
    if isinstance(told.stored, bool):
        return bool(told.value)
    whole = isinstance(told.stored, int) and told.value.is_integer()
    return int(told.value) if whole else told.value


def judged(told: Explanation) -> list[tuple[str, str]]:
    """The stored number, whole, and what it is held against."""
    rows = [("stored", number(told.stored))]
    if told.rounding is not None:
        rows.append(("by the formula", number(result(told))))
        rows.append(("difference", short(told.difference)))
        rows.append(("rounding explains", short(told.rounding)))
    return rows


def summed(told: Explanation) -> bool:
    """Whether there are terms to tell: one alone is the formula again."""
    return len(told.terms) > 1 or told.rest is not None


def share(term: Term) -> str:
    """The share of a term, in percent."""
    return f"{100 * term.share:.1f} %"


def token(term: Term) -> str:
    """The token that a term belongs to, in quotes; nothing where there is none."""
    return "" if term.token is None else repr(term.token)


def rest(told: Explanation) -> tuple[str, str] | None:
    """What the terms come to that aren't told, and how many they are."""
    if told.rest is None:
        return None
    return short(told.rest.value), f"{told.rest.count:,} more"


def used(user: User) -> str:
    """Entries that use a number, `*` for all places of an axis."""
    return called(user.path, user.place)


def users(told: Explanation) -> list[str]:
    """The first users, and how many more there are."""
    shown = [used(user) for user in told.users[:_MOST_USERS]]
    more = len(told.users) - len(shown) + told.more_users
    return [*shown, f"and {more} more"] if more else shown
