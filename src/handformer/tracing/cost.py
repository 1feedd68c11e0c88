"""What a formula makes and what it costs, read off its expression: nothing is evaluated.

Shape      that of the letters on the left, each as long as the arrays on the right say.
Cost       an operation, a comparison or an elementary function counts once for every combination of
           the letters that stand below it: x[b,i] * w[i,j] once for each b, i and j; a sum of n
           terms is n - 1 additions. What doesn't depend on a letter is worked out once for all its
           places, and so is an abbreviation.
Free       index arithmetic, which says where to look; numbers in which no array stands; and a
           choice of one place among many (`tokens[b] == n`): only what is chosen counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula import Formula, Sheet
from handformer.formula.expression import (
    Call,
    Entry,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    free,
    parts,
    walk,
)
from handformer.formula.mentions import abbreviates, mentions
from handformer.formula.names import is_width
from handformer.formula.sizes import Shape, sizes

Letters = frozenset[str]
Arrays = Mapping[str, NDArray[Any]]
_NONE: Letters = frozenset()


@dataclass(frozen=True)
class Work:
    """The shape of a value, and how many operations make it from the values that are kept."""

    shape: Shape
    flops: int


def work(sheet: Sheet, name: str, arrays: Arrays, scalars: Mapping[str, Any]) -> Work:
    """The shape and the cost of the value `name`.

    Parameters
    ----------
    sheet
        where its formula stands, and those of the abbreviations that it uses
    arrays
        what the formulas mention, by name: only shapes matter. If the value itself is there, it
        tells the letters that no array on the right does
    scalars
        the config's numbers, among them the sizes of letters that no array tells

    Raises
    ------
    FormulaError
        for a letter with two sizes or none
    """
    worker = _Worker(sheet, arrays, scalars)
    return Work(worker.shape(name), sum(worker.flops.values()))


def mentioned(sheet: Sheet, formula: Formula) -> tuple[str, ...]:
    """The names on the right of a formula; of an abbreviation, those on its own right.

    A bare `d_k` is the width of a head, not the gradient of k.
    """
    found = mentions(sheet, [formula], lambda name: abbreviates(sheet, name))
    return tuple(
        name
        for name, placed in found.items()
        if not abbreviates(sheet, name) and (placed or not is_width(name))
    )


@dataclass(frozen=True)
class _Worker:
    """A value and the abbreviations that it uses: the shape and the cost of each, once."""

    sheet: Sheet
    arrays: Arrays
    scalars: Mapping[str, Any]
    shapes: dict[str, Shape] = field(default_factory=dict)
    flops: dict[str, int] = field(default_factory=dict)

    def shape(self, name: str) -> Shape:
        if name not in self.shapes:
            formula = self.sheet[name]
            known = sizes(formula, self.array, self.scalars, self.arrays.get(name))
            self.shapes[name] = tuple(n for letter in formula.axes for n in known[letter])
            places = {letter: prod(size) for letter, size in known.items()}
            self.flops[name] = _Count(places).flops(formula.body)
            for used in (*formula.inputs, *formula.scalars):
                if abbreviates(self.sheet, used):
                    self.shape(used)
        return self.shapes[name]

    def array(self, entry: Entry) -> NDArray[Any]:
        if abbreviates(self.sheet, entry.name):
            return np.broadcast_to(np.zeros(()), self.shape(entry.name))
        return self.arrays[entry.name]


@dataclass(frozen=True)
class _Count:
    """How many operations an expression is, with so many places of each letter."""

    places: Mapping[str, int]

    def times(self, letters: Letters) -> int:
        return prod(self.places[letter] for letter in letters)

    def flops(self, node: Node) -> int:
        if not any(isinstance(part, Entry) for part in walk(node)):
            return 0
        match node:
            case Entry():
                return 0
            case Call(function="where", arguments=(condition, yes, no)):
                if _chosen(condition):
                    return self.flops(yes) + self.flops(no)
                return self.flops(condition) + max(self.flops(yes), self.flops(no))
            case Reduction(kind=kind, letters=over, body=body):
                terms = self.times((free(body) | {*over}) - _empty_but_at(body))
                results = self.times(free(node))
                joined = max(terms - results, 0) + (results if kind == "mean" else 0)
                return joined + self.flops(body)
            case Operation() | Negative() | Call():
                return self.times(free(node)) + sum(self.flops(part) for part in parts(node))
        raise AssertionError(node)


def _chosen(condition: Node) -> Letters:
    """The letter for which an equality chooses one place, as n in `tokens[b] == n`."""
    match condition:
        case Operation(operator="==", right=Index(letter=letter)):
            return frozenset({letter})
    return _NONE


def _empty_but_at(body: Node) -> Letters:
    """The letter along which a term is 0 at all places but one."""
    match body:
        case Call(function="where", arguments=(condition, _, Number(value=0))):
            return _chosen(condition)
    return _NONE
