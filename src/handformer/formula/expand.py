"""Expand one entry into its arithmetic: the formula at one place, then with numbers put in.

    attn[0,1] = exp(scores[0,1]) / (exp(scores[0,0]) + exp(scores[0,1]))
              = exp(0) / (exp(0.7071) + exp(0)) = 0.3302

It is a rewriting of the tree: letters become places, sums are written out, `where` becomes the side
that was taken. The result is an expression again, so every renderer shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.evaluate import CONSTANTS, FUNCTIONS, OPERATORS, Scalars, Values, evaluate
from handformer.formula.expression import (
    Call,
    Entry,
    FormulaError,
    Index,
    Listing,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Rest,
    Scalar,
    each,
    rewrite,
    walk,
)
from handformer.formula.names import unknown
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import sizes

Place = tuple[int, ...]


@dataclass(frozen=True)
class Expansion:
    """One entry of one value in its arithmetic.

    `symbols` is the formula at this place with its sums written out, `numbers` the same with every
    name replaced by its number, `value` the result in float64, `parents` the entries that `symbols`
    names: array, place, number.
    """

    formula: Formula
    place: Place
    symbols: Node
    numbers: Node
    value: float
    parents: tuple[tuple[str, Place, float], ...]


def expand(
    sheet: Sheet,
    name: str,
    place: Place,
    values: Values,
    scalars: Scalars,
    *,
    terms: int | None = None,
) -> Expansion:
    """Expand the entry of `name` at `place` (one number an axis, leading axes included).

    Parameters
    ----------
    terms
        how many terms of a sum or maximum to write out, the greatest ones; the others stand
        together as one `Rest`, so that `value` is that of all of them

    Raises
    ------
    IndexError
        where `name` has no such place
    FormulaError
        for an unknown name, or a place outside an array
    """
    with np.errstate(all="ignore"):
        return _Expander(sheet, values, scalars, sheet[name], terms).expand(place)


def compute(node: Node) -> Any:
    """The result of an expression that holds nothing but numbers."""
    match node:
        case Number(value=value) | Rest(value=value):
            return value
        case Negative(part=part):
            return -compute(part)
        case Operation(operator=operator, left=left, right=right):
            return OPERATORS[operator](compute(left), compute(right))
        case Listing(kind=kind, terms=terms):
            return (np.max if kind == "max" else np.sum)([compute(part) for part in terms])
        case Call(function=function, arguments=(part,)):
            return FUNCTIONS[function](compute(part))
    raise AssertionError(node)


class _Expander:
    def __init__(
        self,
        sheet: Sheet,
        values: Values,
        scalars: Scalars,
        formula: Formula,
        terms: int | None,
    ) -> None:
        self.sheet, self.scalars, self.formula, self.terms = sheet, scalars, formula, terms
        self.values: dict[str, NDArray[Any]] = {n: np.asarray(a) for n, a in values.items()}
        self.sizes = sizes(formula, self.array, scalars, values.get(formula.name))

    def expand(self, place: Place) -> Expansion:
        symbols = self.unroll(self.formula.body, self.letters(place))
        numbers = rewrite(symbols, self.number)
        entries = dict.fromkeys(node for node in walk(symbols) if isinstance(node, Entry))
        parents = tuple((e.name, at := _place(e), float(self.array(e)[at])) for e in entries)
        return Expansion(self.formula, place, symbols, numbers, float(compute(numbers)), parents)

    def letters(self, place: Place) -> dict[str, Place]:
        """Where each letter of the left stands; `b` at several places, one an axis."""
        at: dict[str, Place] = {}
        shape: Place = ()
        start = 0
        for letter in self.formula.axes:
            size = self.sizes[letter]
            at[letter] = place[start : start + len(size)]
            shape += size
            start += len(size)
        if len(place) != start or not all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            left = self.formula.text.partition("=")[0].rstrip(" :")
            raise IndexError(f"{left} has the shape {shape}: there is no place {place}")
        return at

    def array(self, node: Entry | Scalar) -> NDArray[Any]:
        if node.name not in self.values:
            if node.name not in self.sheet:
                known = {*self.values, *self.scalars, *(f.name for f in self.sheet)}
                reason = unknown("name", node.name, known)
                raise FormulaError(self.formula.text, node.column, reason)
            found = evaluate(self.sheet, node.name, self.values, self.scalars)
            self.values[node.name] = found
        return self.values[node.name]

    def number(self, node: Node) -> Node:
        match node:
            case Entry():
                return Number(_plain(self.array(node)[_place(node)]))
            case Scalar(name=name) if name in CONSTANTS:
                return Number(CONSTANTS[name])
            case Scalar(name=name) if name in self.scalars:
                return Number(_plain(self.scalars[name]))
            case Scalar():
                return Number(_plain(self.array(node)[()]))
        return node

    def known(self, node: Node, at: Mapping[str, Place]) -> Any:
        """The number that a part comes to."""
        return compute(rewrite(self.unroll(node, at), self.number))

    def unroll(self, node: Node, at: Mapping[str, Place]) -> Node:
        match node:
            case Index(letter=letter):
                return Number(at[letter][0])
            case Entry():
                return self.entry(node, at)
            case Call(function="where", arguments=(condition, yes, no)):
                return self.unroll(yes if self.known(condition, at) else no, at)
            case Reduction():
                return self.listing(node, at)
        return each(node, lambda part: self.unroll(part, at))

    def entry(self, node: Entry, at: Mapping[str, Place]) -> Node:
        places: list[int] = []
        for index in node.indices:
            if isinstance(index, Index):
                places += at[index.letter]
            else:
                places.append(int(self.known(index, at)))
        shape = self.array(node).shape
        if not all(0 <= p < n for p, n in zip(places, shape, strict=True)):
            reason = f"there is no place {tuple(places)} in {node.name} of the shape {shape}"
            raise FormulaError(self.formula.text, node.column, reason)
        return Entry(node.name, tuple(Number(place) for place in places))

    def listing(self, node: Reduction, at: Mapping[str, Place]) -> Node:
        ranges = [product(*(range(n) for n in self.sizes[letter])) for letter in node.letters]
        written = [
            self.unroll(node.body, {**at, **dict(zip(node.letters, places, strict=True))})
            for places in product(*ranges)
        ]
        count = len(written)
        kind = "max" if node.kind == "max" else "sum"
        if self.terms is not None and count > self.terms:
            written = self.greatest(kind, written, self.terms)
        if not count:
            listing: Node = Number(-np.inf if kind == "max" else 0)
        else:
            listing = written[0] if len(written) == 1 else Listing(kind, tuple(written))
        return Operation("/", listing, Number(count)) if node.kind == "mean" else listing

    def greatest(self, kind: str, terms: list[Node], keep: int) -> list[Node]:
        """So many terms, in their order, and the others as one."""
        found = [compute(rewrite(term, self.number)) for term in terms]
        weights = [value if kind == "max" else abs(value) for value in found]
        order = sorted(range(len(terms)), key=lambda place: weights[place], reverse=True)
        shown, others = sorted(order[:keep]), sorted(order[keep:])
        rest = compute(Listing(kind, tuple(Number(found[place]) for place in others)))
        return [*(terms[place] for place in shown), Rest(len(others), float(rest))]


def _place(entry: Entry) -> Place:
    return tuple(place.value for place in entry.indices if isinstance(place, Number))


def _plain(value: Any) -> Any:
    """A number of Python; a fraction stays one."""
    return value.item() if isinstance(value, np.generic | np.ndarray) else value
