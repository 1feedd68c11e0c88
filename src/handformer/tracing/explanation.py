"""An explanation of one number: what it says, and the records that it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from handformer.formula import Formula
from handformer.formula.expression import Node, Rest
from handformer.formula.render import plain
from handformer.tracing.parents import Place
from handformer.tracing.seen import Kind
from handformer.tracing.users import User


@dataclass(frozen=True)
class Parent:
    """An entry that a formula mentions, by the path where it is made, and its number."""

    path: str
    place: Place
    value: Any


@dataclass(frozen=True)
class Term:
    """One term of the sum: its expression, what it comes to, and which entries stand in it.

    `token` is the spelling of the token that it belongs to, where the sum runs over tokens.
    """

    node: Node
    value: float
    share: float
    parents: tuple[tuple[str, Place], ...]
    token: str | None = None

    @property
    def text(self) -> str:
        """The expression as text."""
        return plain(self.node)


@dataclass(frozen=True, repr=False)
class Explanation:
    """One entry of a value in its arithmetic; it shows itself as text for a terminal.

    path, place, axes
        where it stands; the letters of the axes
    formula, abbreviations, symbols, numbers
        the formula, those of the abbreviations in it, the formula at this place, and with every
        name exchanged for its number. None for what is given from outside: an input, a weight
    value, stored, rounding
        what the formula comes to in float64, what the trace holds, and the most that rounding
        explains of the difference (None where there is no formula)
    terms, rest, parents, users
        see `tracing.explain`; more_users: how many use it that aren't named
    tokens
        the spellings of the tokens at this place, by axis
    below
        the explanations of the parents, where they were asked for
    kind
        what it is, as the manifest says
    """

    path: str
    place: Place
    axes: tuple[str, ...]
    formula: Formula | None
    abbreviations: tuple[Formula, ...]
    symbols: Node | None
    numbers: Node | None
    value: float
    stored: Any
    rounding: float | None
    terms: tuple[Term, ...]
    rest: Rest | None
    parents: tuple[Parent, ...]
    users: tuple[User, ...]
    more_users: int
    tokens: dict[str, str]
    below: tuple["Explanation", ...] = ()
    kind: Kind = "value"

    @property
    def name(self) -> str:
        """The entry as it is written: `scores[0,1,3,2]` under its full path."""
        return called(self.path, self.place)

    @property
    def difference(self) -> float:
        """The stored number less what the formula comes to; 0 where both are infinite alike."""
        stored = float(self.stored)
        return 0.0 if stored == self.value else stored - self.value

    def __repr__(self) -> str:
        """The explanation as text."""
        from handformer.tracing.show import text  # noqa: PLC0415 (it shows explanations)

        return text(self).rstrip("\n")

    def as_json(self) -> dict[str, Any]:
        """The explanation as what JSON can hold; the page gives the same."""
        from handformer.tracing.show.record import as_json  # noqa: PLC0415

        return as_json(self)


def called(path: str, place: Sequence[int | None]) -> str:
    """An entry as it is written; `*` stands for all places of an axis."""
    places = ",".join("*" if at is None else str(at) for at in place)
    return f"{path}[{places}]" if place else path
