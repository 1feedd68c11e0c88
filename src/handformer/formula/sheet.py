"""A sheet: the formulas of one op or layer, a line a value, forward and backward.

    y[b,j]   = sum(i, x[b,i] * w[i,j]) + bias[j]      a value that is kept
    top[b]  := max(i, x[b,i])                         an abbreviation: used by other lines, not kept
    d_w[i,j] = sum(b, x[b,i] * d_y[b,j])              a gradient: its name begins with d_

A layer states its own sheet with those of the ops it calls, under the layer's names (`rename`), less
the parts that it doesn't have (`without`). So every formula is written in one place.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from handformer.axes import LEGEND
from handformer.formula.expression import (
    Entry,
    FormulaError,
    Index,
    Node,
    Operation,
    Reduction,
    Scalar,
    each,
    parse,
    parts,
    rewrite,
    walk,
)

_LINE = re.compile(r"^([\w.]+)\s*(?:\[([\w\s,]*)\])?\s*(:?=)(?!=)\s*(.*)$")


@dataclass(frozen=True)
class Formula:
    """`name[axes] = body`; `kept` is false for an abbreviation."""

    name: str
    axes: tuple[str, ...]
    body: Node
    kept: bool
    text: str

    @classmethod
    def parse(cls, text: str) -> "Formula":
        """Read one line.

        Raises
        ------
        FormulaError
            for anything outside the language, or an index on the right that is neither on the left
            nor run over
        """
        match = _LINE.match(text)
        if not match:
            raise FormulaError(text, 0, "a formula reads name[axes] = expression")
        name, axes_text, sign, right = match.groups()
        axes = tuple(a.strip() for a in axes_text.split(",") if a.strip()) if axes_text else ()
        for letter in axes:
            if letter not in LEGEND or axes.count(letter) > 1:
                column = match.start(2) + (axes_text or "").index(letter)
                raise FormulaError(text, column, f"{letter} can't be an axis here")
        start = match.start(4)
        try:
            body = parse(right)
        except FormulaError as error:
            reason = str(error).split("\n")[0]
            raise FormulaError(text, start + error.column, reason) from None
        body = rewrite(body, lambda node: replace(node, column=start + node.column))
        formula = cls(name, axes, body, sign == "=", text)
        _reject_free(formula, body, frozenset(axes))
        return formula

    @property
    def backward(self) -> bool:
        """Whether this is a gradient."""
        return self.name.rpartition(".")[2].startswith("d_")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arrays on the right, in order of appearance."""
        return tuple(dict.fromkeys(n.name for n in walk(self.body) if isinstance(n, Entry)))

    @property
    def scalars(self) -> tuple[str, ...]:
        """The bare names on the right, in order of appearance."""
        return tuple(dict.fromkeys(n.name for n in walk(self.body) if isinstance(n, Scalar)))


def _reject_free(formula: Formula, node: Node, bound: frozenset[str]) -> None:
    if isinstance(node, Index) and node.letter not in bound:
        reason = f"index {node.letter} stands free on the right: nothing runs over it"
        raise FormulaError(formula.text, node.column, reason)
    if isinstance(node, Reduction):
        bound |= set(node.letters)
    for part in parts(node):
        _reject_free(formula, part, bound)


@dataclass(frozen=True)
class Sheet:
    """The formulas of one op or layer, in the order in which they are computed."""

    formulas: tuple[Formula, ...]

    @classmethod
    def parse(cls, text: str) -> "Sheet":
        """Read a sheet: one formula a line; an indented line that begins with an operator goes on."""
        lines: list[str] = []
        for raw in text.splitlines():
            line = raw.split("#")[0].strip()
            if lines and line and not _LINE.match(line):
                lines[-1] += " " + line
            elif line:
                lines.append(line)
        return cls(tuple(Formula.parse(line) for line in lines))

    def __iter__(self) -> Iterator[Formula]:
        return iter(self.formulas)

    def __contains__(self, name: str) -> bool:
        return any(formula.name == name for formula in self)

    def __getitem__(self, name: str) -> Formula:
        for formula in self:
            if formula.name == name:
                return formula
        raise KeyError(f"no formula for {name}; there are {', '.join(f.name for f in self)}")

    def __add__(self, other: "Sheet") -> "Sheet":
        for name in {f.name for f in self} & {f.name for f in other}:
            if self[name] != other[name]:
                raise ValueError(f"two formulas for {name}: {self[name].text} | {other[name].text}")
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
        return Sheet(tuple(formula if f.name == formula.name else f for f in self))

    def order(self, names: str) -> "Sheet":
        """The same formulas in this order: that of the computation; every name is there once."""
        wanted = names.split()
        if sorted(wanted) != sorted(formula.name for formula in self):
            raise ValueError(f"order needs every name once: {', '.join(f.name for f in self)}")
        return self.only(*wanted)

    def only(self, *names: str) -> "Sheet":
        """The formulas of these names."""
        return Sheet(tuple(self[name] for name in names))

    def rename(self, **names: str) -> "Sheet":
        """The same formulas under other names: `rename(y="q", w="w_q", b="b t", j="c")`.

        A letter of the legend is an axis (`b` may become several letters, or none with ""); anything
        else is an array or a number. With an array its gradient is renamed too, unless named itself.
        """
        letters = {k: tuple(v.split()) for k, v in names.items() if k in LEGEND}
        words = {k: v for k, v in names.items() if k not in LEGEND}
        arrays = {f"d_{k}": f"d_{v}" for k, v in words.items()} | words

        def spread(places: Iterable[str]) -> tuple[str, ...]:
            return tuple(new for old in places for new in letters.get(old, (old,)))

        def change(node: Node) -> Node:
            match node:
                case Entry(name=name, indices=indices):
                    places: list[Node] = []
                    for place in indices:
                        if isinstance(place, Index):
                            places += [Index(letter) for letter in spread([place.letter])]
                        else:
                            places.append(change(place))
                    return Entry(arrays.get(name, name), tuple(places))
                case Index(letter=letter):
                    (new,) = spread([letter])  # in arithmetic, one letter can only become one
                    return Index(new)
                case Scalar(name=name):
                    return Scalar(words.get(name, name))
                case Reduction(kind=kind, letters=over, body=body):
                    over = spread(over)
                    return Reduction(kind, over, change(body)) if over else change(body)
            return each(node, change)

        return Sheet(
            tuple(
                rebuild(arrays.get(f.name, f.name), spread(f.axes), change(f.body), kept=f.kept)
                for f in self
            )
        )

    def without(self, *names: str) -> "Sheet":
        """The sheet of an op or layer that lacks these arrays: their terms and gradients drop out."""
        gone = {*names, *(f"d_{name}" for name in names)}
        kept = [f for f in self if f.name not in gone]
        return Sheet(
            tuple(
                rebuild(f.name, f.axes, _drop(f.body, gone), kept=f.kept)
                if gone & {*f.inputs}
                else f
                for f in kept
            )
        )


def _drop(body: Node, gone: set[str]) -> Node:
    def missing(node: Node) -> bool:
        return any(isinstance(n, Entry) and n.name in gone for n in walk(node))

    def change(node: Node) -> Node:
        if isinstance(node, Operation) and node.operator == "+":
            if missing(node.right):
                return node.left
            if missing(node.left):
                return node.right
        return node

    dropped = rewrite(body, change)
    if missing(dropped):
        raise ValueError(f"only a term of a sum can be absent: {sorted(gone)}")
    return dropped


def rebuild(name: str, axes: tuple[str, ...], body: Node, *, kept: bool) -> Formula:
    """A formula made from a tree: its text is the tree's, and its columns point into that text."""
    from handformer.formula.render import plain

    left = f"{name}[{','.join(axes)}]" if axes else name
    return Formula.parse(f"{left} {'=' if kept else ':='} {plain(body)}")
