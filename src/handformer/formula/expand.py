"""Expand one entry into its arithmetic: the formula at one place, then with numbers put in.

    attn[0,1] = exp(scores[0,1]) / (exp(scores[0,0]) + exp(scores[0,1]))
              = exp(0) / (exp(0.7071) + exp(0)) = 0.3302

It is a rewriting of the tree: letters become places, sums are written out, `where` becomes the side
that was taken. The result is an expression again, so every renderer shows it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.arithmetic import FUNCTIONS, OPERATORS, total
from handformer.formula.evaluate import Scalars, Values
from handformer.formula.expression import (
    Call,
    Entry,
    FormulaError,
    Listing,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Rest,
    each,
    rewrite,
    walk,
)
from handformer.formula.located import Located, place_of
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import Shape, fold
from handformer.formula.substitute import Place, fix
from handformer.formula.text import number, plain


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
    return unroll(Located(sheet, name, place, values, scalars), terms)


def unroll(located: Located, terms: int | None) -> Expansion:
    """The same for a formula that is at its place already."""
    with np.errstate(all="ignore"):
        return _Expander(located, terms).expand()


def write_out(located: Located, node: Node, terms: int | None) -> Node:
    """A part of a formula at its place: no letter left free, sums written out, choices made."""
    with np.errstate(all="ignore"):
        return _Expander(located, terms).unroll(node)


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
    def __init__(self, located: Located, terms: int | None) -> None:
        self.located, self.terms = located, terms

    def expand(self) -> Expansion:
        here = self.located
        symbols = self.unroll(here.body)
        numbers = rewrite(symbols, here.number)
        entries = dict.fromkeys(node for node in walk(symbols) if isinstance(node, Entry))
        parents = tuple((e.name, place_of(e), float(_value(here.number(e)))) for e in entries)
        value = float(compute(numbers))
        return Expansion(here.formula, here.place, symbols, numbers, value, parents)

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
        return compute(rewrite(self.unroll(node), self.located.number))

    def entry(self, node: Entry) -> Node:
        here = self.located
        places = tuple(int(self.known(index)) for index in node.indices)
        shape = here.shape(node)
        if not all(0 <= p < n for p, n in zip(places, shape, strict=True)):
            reason = f"there is no place {places} in {node.name} of the shape {shape}"
            raise FormulaError(here.formula.text, node.column, reason)
        return Entry(node.name, tuple(Number(place) for place in places))

    def listing(self, node: Reduction) -> Node:
        kind = "max" if node.kind == "max" else "sum"
        lengths = [self.located.sizes[letter] for letter in node.letters]
        count = prod(fold(lengths))
        rest: list[Node] = []
        if self.terms is not None and count > self.terms:
            shown, others = self.greatest(kind, node, self.terms)
            rest.append(others)
        else:
            shown = np.arange(count)
        written = (fix(node.body, at) for at in places(node.letters, lengths, shown))
        terms = (*(self.unroll(term) for term in written), *rest)
        listing: Node = Listing(kind, terms)
        if len(terms) < 2:
            listing = terms[0] if terms else Number(compute(listing))
        return Operation("/", listing, Number(count)) if node.kind == "mean" else listing

    def greatest(self, kind: str, node: Reduction, keep: int) -> tuple[NDArray[np.intp], Rest]:
        """Which terms are the greatest, in their order, and what the others come to.

        Of a sum, terms that are 0 stand with the others.
        """
        found = self.located.over(node.body, node.letters).astype(np.float64).reshape(-1)
        order = np.argsort(-found if kind == "max" else -np.abs(found), kind="stable")
        keep = keep if kind == "max" else min(keep, int(np.count_nonzero(found)))
        others = found[np.sort(order[keep:])]
        return np.sort(order[:keep]), Rest(others.size, float(total(kind, others)))


def places(
    letters: tuple[str, ...], lengths: Sequence[Shape], which: NDArray[np.intp]
) -> Iterator[dict[str, Place]]:
    """Where the letters of a sum stand at some of its terms, counted from 0 in their order."""
    shape = tuple(n for length in lengths for n in length)
    for term in which:
        flat = tuple(int(at) for at in np.unravel_index(term, shape)) if shape else ()
        at, start = dict[str, Place](), 0
        for letter, length in zip(letters, lengths, strict=True):
            at[letter] = flat[start : start + len(length)]
            start += len(length)
        yield at


def _value(node: Node) -> Any:
    assert isinstance(node, Number)
    return node.value
