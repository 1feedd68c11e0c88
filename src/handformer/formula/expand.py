"""Expand one entry into its arithmetic: the formula at one place, then with numbers put in.

    attn[0,1] = exp(scores[0,1]) / (exp(scores[0,0]) + exp(scores[0,1]))
              = exp(0) / (exp(0.7071) + exp(0)) = 0.3302

It is a rewriting of the tree: letters become places, sums are written out, `where` becomes the side
that was taken. The result is an expression again, so every renderer shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.arithmetic import CONSTANTS, FUNCTIONS, OPERATORS, total
from handformer.formula.evaluate import Evaluation, Scalars, Values
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
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import sizes
from handformer.formula.text import number, plain

Place = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Expansion:
    """One entry of one value in its arithmetic; it shows itself as three lines.

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

    def __repr__(self) -> str:
        """The entry's formula, the numbers put in, and the result, to four significant digits."""
        place = f"[{','.join(map(str, self.place))}]" if self.place else ""
        left = f"{self.formula.name}{place}"
        shown = (plain(self.symbols), plain(self.numbers, 4), number(self.value, 4))
        return "\n".join(f"{' ' * len(left) if i else left} = {s}" for i, s in enumerate(shown))


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
            return total(kind, [compute(part) for part in terms])
        case Call(function=function, arguments=(part,)):
            return FUNCTIONS[function](float(compute(part)))
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
        self.scalars, self.formula, self.terms = scalars, formula, terms
        self.evaluation = Evaluation(sheet, values, scalars)
        self.sizes = sizes(formula, self.array, scalars, values.get(formula.name))

    def expand(self, place: Place) -> Expansion:
        place = tuple(int(at) for at in place)
        symbols = self.unroll(fix(self.formula.body, self.letters(place)))
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
        return self.evaluation.array(node, self.formula)

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

    def unroll(self, node: Node) -> Node:
        """A tree in which no letter is left free, with sums written out and choices made."""
        match node:
            case Entry():
                return self.entry(node)
            case Call(function="where", arguments=(condition, yes, no)):
                return self.unroll(yes if self.known(condition) else no)
            case Reduction():
                return self.listing(node)
        return each(node, self.unroll)

    def known(self, node: Node) -> Any:
        """The number that a part comes to."""
        return compute(rewrite(self.unroll(node), self.number))

    def entry(self, node: Entry) -> Node:
        places = tuple(int(self.known(index)) for index in node.indices)
        shape = self.array(node).shape
        if not all(0 <= p < n for p, n in zip(places, shape, strict=True)):
            reason = f"there is no place {places} in {node.name} of the shape {shape}"
            raise FormulaError(self.formula.text, node.column, reason)
        return Entry(node.name, tuple(Number(place) for place in places))

    def listing(self, node: Reduction) -> Node:
        kind = "max" if node.kind == "max" else "sum"
        ranges = [product(*(range(n) for n in self.sizes[letter])) for letter in node.letters]
        places = list(product(*ranges))
        count = len(places)
        rest: list[Node] = []
        if self.terms is not None and count > self.terms:
            places, others = self.greatest(kind, node, places, self.terms)
            rest.append(others)
        written = (fix(node.body, dict(zip(node.letters, at, strict=True))) for at in places)
        terms = (*(self.unroll(term) for term in written), *rest)
        listing: Node = Listing(kind, terms)
        if len(terms) < 2:
            listing = terms[0] if terms else Number(compute(listing))
        return Operation("/", listing, Number(count)) if node.kind == "mean" else listing

    def greatest(
        self, kind: str, node: Reduction, places: list[tuple[Place, ...]], keep: int
    ) -> tuple[list[tuple[Place, ...]], Rest]:
        """Where the greatest terms stand, in their order, and what the others come to."""
        body = replace(self.formula, name="", axes=node.letters, body=node.body)
        found = self.evaluation.value(body, {}, self.sizes).astype(np.float64).reshape(-1)
        order = np.argsort(-found if kind == "max" else -np.abs(found), kind="stable")
        others = found[np.sort(order[keep:])]
        shown = [places[place] for place in np.sort(order[:keep])]
        return shown, Rest(others.size, float(total(kind, others)))


def fix(node: Node, at: Mapping[str, Place]) -> Node:
    """The tree with some letters at their places; `b` stands at several, one for each axis."""
    match node:
        case Index(letter=letter) if letter in at:
            return Number(at[letter][0])
        case Entry(name=name, indices=indices):
            places: list[Node] = []
            for index in indices:
                if isinstance(index, Index) and index.letter in at:
                    places += [Number(place) for place in at[index.letter]]
                else:
                    places.append(fix(index, at))
            return Entry(name, tuple(places), column=node.column)
    return each(node, lambda part: fix(part, at))


def _place(entry: Entry) -> Place:
    return tuple(place.value for place in entry.indices if isinstance(place, Number))


def _plain(value: Any) -> Any:
    """A number of Python; a fraction stays one."""
    return value.item() if isinstance(value, np.generic | np.ndarray) else value
