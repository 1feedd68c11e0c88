"""A sheet: the formulas of one op or layer, a line a value, forward and backward.

    y[b,j]   = sum(i, x[b,i] * w[i,j]) + bias[j]      a value that is kept
    top[b]  := max(i, x[b,i])                         an abbreviation: used by other lines, not kept
    d_w[i,j] = sum(b, x[b,i] * d_y[b,j])              a gradient: its name begins with d_

A layer states its own sheet with those of the ops it calls, under the layer's names (`rename`),
less the parts that it doesn't have (`without`). So every formula is written in one place.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from handformer.axes import LEADING, LEGEND
from handformer.formula.edit import Renaming, drop
from handformer.formula.expression import (
    Entry,
    FormulaError,
    Index,
    Node,
    Reduction,
    Scalar,
    parts,
    walk,
)
from handformer.formula.names import gradient, is_gradient, unknown
from handformer.formula.parse import parse
from handformer.formula.text import plain

_SIGN = re.compile(r"(?<![<>=!:]):?=(?!=)")
_LEFT = re.compile(r"\s*([\w.]+)\s*(?:\[([\w\s,]*)\])?\s*")


@dataclass(frozen=True, repr=False)
class Formula:
    """`name[axes] = body`; `kept` is false for an abbreviation."""

    name: str
    axes: tuple[str, ...]
    body: Node
    kept: bool
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> "Formula":
        """Read one line.

        Raises
        ------
        FormulaError
            for anything outside the language, or an index on the right that is neither on the left
            nor run over; it points at the place in `text`
        """
        sign = _SIGN.search(text)
        left = _LEFT.fullmatch(text, 0, sign.start()) if sign else None
        if not (sign and left):
            raise FormulaError(text, 0, "a formula reads name[axes] = expression")
        axes: list[str] = []
        for place in re.finditer(r"[^\s,][^,]*(?<!\s)", left[2] or ""):
            if place[0] not in LEGEND or place[0] in axes:
                reason = "stands there twice" if place[0] in axes else "is no letter of the legend"
                raise FormulaError(text, left.start(2) + place.start(), f"{place[0]} {reason}")
            axes.append(place[0])
        body = parse(text, sign.end())
        _check(text, body, frozenset(axes))
        return cls(left[1], tuple(axes), body, sign[0] == "=", text)

    @classmethod
    def build(cls, name: str, axes: tuple[str, ...], body: Node, *, kept: bool = True) -> "Formula":
        """A formula from a tree: its text is the tree's, and columns point into that text."""
        left = f"{name}[{','.join(axes)}]" if axes else name
        return cls.parse(f"{left} {'=' if kept else ':='} {plain(body)}")

    def __repr__(self) -> str:
        """The line itself."""
        return " ".join(self.text.split())

    @property
    def backward(self) -> bool:
        """Whether this is a gradient."""
        return is_gradient(self.name)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every entry of an array on the right, in order of appearance."""
        return tuple(node for node in walk(self.body) if isinstance(node, Entry))

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """Every letter: those on the left, then those that are run over."""
        sums = (node for node in walk(self.body) if isinstance(node, Reduction))
        return tuple(dict.fromkeys([*self.axes, *(x for node in sums for x in node.letters)]))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The arrays on the right, in order of appearance."""
        return tuple(dict.fromkeys(entry.name for entry in self.entries))

    @cached_property
    def scalars(self) -> tuple[str, ...]:
        """The bare names on the right, in order of appearance."""
        return tuple(dict.fromkeys(n.name for n in walk(self.body) if isinstance(n, Scalar)))


def _check(text: str, node: Node, running: frozenset[str]) -> None:
    """Every index is one of those that run here, and each runs once."""
    match node:
        case Index(letter=letter) if letter not in running:
            reason = f"index {letter} stands free on the right: nothing runs over it"
            raise FormulaError(text, node.column, reason)
        case Index(letter=letter) if letter == LEADING:
            reason = f"{letter} stands for any number of axes: it can't be calculated with"
            raise FormulaError(text, node.column, reason)
        case Entry(indices=indices):
            leading = Index(LEADING)
            if indices.count(leading) == 1 and LEADING in running:
                node = Entry(node.name, tuple(place for place in indices if place != leading))
        case Reduction(kind=kind, letters=letters):
            for place, letter in enumerate(letters):
                if letter in running or letter in letters[:place]:
                    reason = f"{kind} over {letter}, which runs here already: take another letter"
                    raise FormulaError(text, node.column, reason)
            running |= set(letters)
    for part in parts(node):
        _check(text, part, running)


@dataclass(frozen=True, repr=False)
class Sheet:
    """The formulas of one op or layer, a name once. It shows itself as its lines."""

    formulas: tuple[Formula, ...]

    def __post_init__(self) -> None:
        """A name has one formula."""
        seen: set[str] = set()
        for formula in self:
            if formula.name in seen:
                raise ValueError(f"two formulas for {formula.name}: {self._both(formula.name)}")
            seen.add(formula.name)

    @cached_property
    def _by_name(self) -> dict[str, Formula]:
        return {formula.name: formula for formula in self}

    def _both(self, name: str) -> str:
        return " | ".join(formula.text for formula in self if formula.name == name)

    @classmethod
    def parse(cls, text: str) -> "Sheet":
        """Read a sheet: one formula a line; a line without `=` or `:=` goes on from above."""
        lines: list[str] = []
        for raw in text.splitlines():
            line = raw.split("#")[0].strip()
            if lines and line and not _SIGN.search(line):
                lines[-1] += " " + line
            elif line:
                lines.append(line)
        return cls(tuple(Formula.parse(line) for line in lines))

    def __repr__(self) -> str:
        """The lines, one formula each."""
        return "\n".join(map(repr, self))

    def __iter__(self) -> Iterator[Formula]:
        """The formulas in order."""
        return iter(self.formulas)

    def __contains__(self, name: str) -> bool:
        """Whether there is a formula for `name`."""
        return name in self._by_name

    def __getitem__(self, name: str) -> Formula:
        """The formula of `name`."""
        if name not in self._by_name:
            raise KeyError(unknown("formula", name, self._by_name))
        return self._by_name[name]

    def __add__(self, other: "Sheet") -> "Sheet":
        """Both sheets' formulas; one that both have must be the same."""
        return Sheet(tuple(dict.fromkeys((*self, *other))))

    @property
    def forward(self) -> tuple[str, ...]:
        """The kept values of the forward direction, in order."""
        return tuple(f.name for f in self if f.kept and not f.backward)

    @property
    def backward(self) -> tuple[str, ...]:
        """The gradients, in order."""
        return tuple(f.name for f in self if f.kept and f.backward)

    def replace(self, formula: Formula) -> "Sheet":
        """The same sheet with the formula of that name exchanged."""
        old = self[formula.name]
        return Sheet(tuple(formula if f is old else f for f in self))

    def order(self, names: str) -> "Sheet":
        """The same formulas in this order: that of the computation; every name is there once."""
        wanted, have = names.split(), [formula.name for formula in self]
        if sorted(wanted) != sorted(have):
            odd = sorted({*wanted} ^ {*have}) or [n for n in have if wanted.count(n) > 1]
            raise ValueError(f"order needs every name of the sheet once; see {', '.join(odd)}")
        return self.only(*wanted)

    def only(self, *names: str) -> "Sheet":
        """The formulas of these names."""
        return Sheet(tuple(self[name] for name in names))

    def rename(self, **names: str) -> "Sheet":
        """The same formulas under other names: `rename(y="q", w="w_q", b="b t", j="c")`.

        A letter of the legend that becomes letters is an axis (`b` may become several, or none
        with ""); anything else is an array or a number. With an array its gradient is renamed too,
        unless named itself.

        Raises
        ------
        ValueError
            where two letters of one formula would become the same
        """
        new = Renaming.of(names)
        return Sheet(
            tuple(
                Formula.build(new.array(f.name), new.axes(f.axes), new.body(f.body), kept=f.kept)
                for f in self
            )
        )

    def without(self, *names: str) -> "Sheet":
        """The sheet of an op that lacks these arrays: their terms and gradients drop out.

        Raises
        ------
        ValueError
            where one of them is more than a term of a sum
        """
        gone = {*names, *(gradient(name) for name in names)}
        return Sheet(
            tuple(
                Formula.build(f.name, f.axes, drop(f.body, gone), kept=f.kept)
                if gone & {*f.inputs, *f.scalars}
                else f
                for f in self
                if f.name not in gone
            )
        )
