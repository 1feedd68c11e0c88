"""Expand one entry into its arithmetic: the formula at one place, unrolled, then with numbers put in.

    attn[0,1] = exp(scores[0,1]) / (exp(scores[0,0]) + exp(scores[0,1]))
              = exp(0) / (exp(0.7071) + exp(0)) = 0.3302

It is a rewriting of the tree: letters become places, sums become written-out terms, `where` becomes the
side that was taken. The result is an expression again, so every renderer shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import LEADING, SIZES
from handformer.formula.evaluate import CONSTANTS, FUNCTIONS, OPERATORS, Scalars, Values, evaluate
from handformer.formula.expression import (
    Call,
    Entry,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
    each,
    rewrite,
    walk,
)
from handformer.formula.sheet import Formula, Sheet

Place = tuple[int, ...]


@dataclass(frozen=True)
class Expansion:
    """One entry of one value in its arithmetic.

    `symbols` is the formula at this place with its sums written out, `numbers` the same with every name
    replaced by its number, `value` the result in float64, `parents` the entries it was made from.
    """

    formula: Formula
    place: Place
    symbols: Node
    numbers: Node
    value: float
    parents: tuple[tuple[str, Place, float], ...]


def expand(sheet: Sheet, name: str, place: Place, values: Values, scalars: Scalars) -> Expansion:
    """Expand the entry of `name` at `place` (one number an axis, leading axes included).

    Raises
    ------
    IndexError
        where the place has too few numbers for the axes of `name`
    FormulaError
        for an unknown name, or a place outside an array
    """
    return _Expander(sheet, values, scalars).expand(sheet[name], place)


def compute(node: Node) -> Any:
    """The result of an expression that holds nothing but numbers."""
    match node:
        case Number(value=value):
            return value
        case Negative(part=part):
            return -compute(part)
        case Operation(operator=operator, left=left, right=right):
            return OPERATORS[operator](compute(left), compute(right))
        case Call(function="max", arguments=arguments):
            return max(compute(part) for part in arguments)
        case Call(function=function, arguments=arguments):
            return FUNCTIONS[function](*(compute(part) for part in arguments))
    raise AssertionError(node)


class _Expander:
    def __init__(self, sheet: Sheet, values: Values, scalars: Scalars) -> None:
        self.sheet, self.scalars = sheet, scalars
        self.values: dict[str, NDArray[Any]] = dict(values)

    def expand(self, formula: Formula, place: Place) -> Expansion:
        leading = len(place) - len(formula.axes) + (LEADING in formula.axes)
        if leading < 0 or (LEADING not in formula.axes and leading):
            axes = ",".join(formula.axes)
            raise IndexError(f"{formula.name}[{axes}] can't be read at place {place}")
        at: dict[str, Place] = {}
        rest = list(place)
        for letter in formula.axes:
            count = leading if letter == LEADING else 1
            at[letter], rest = tuple(rest[:count]), rest[count:]
        sizes = self.sizes(formula)
        symbols = self.unroll(formula.body, at, sizes)
        numbers = rewrite(symbols, self.number)
        parents = tuple(
            (node.name, where, float(self.array(node.name)[where]))
            for node in dict.fromkeys(n for n in walk(symbols) if isinstance(n, Entry))
            for where in [tuple(compute(i) for i in node.indices)]
        )
        with np.errstate(all="ignore"):
            value = float(compute(numbers))
        return Expansion(formula, place, symbols, numbers, value, parents)

    def array(self, name: str) -> NDArray[Any]:
        if name not in self.values:
            self.values[name] = evaluate(self.sheet, name, self.values, self.scalars)
        return self.values[name]

    def number(self, node: Node) -> Node:
        match node:
            case Entry(name=name, indices=indices):
                return Number(self.array(name)[tuple(compute(i) for i in indices)].item())
            case Scalar(name=name) if name in CONSTANTS:
                return Number(CONSTANTS[name])
            case Scalar(name=name):
                return Number(self.scalars[name] if name in self.scalars else self.array(name).item())
        return node

    def sizes(self, formula: Formula) -> dict[str, Place]:
        """How far each letter runs; the leading axes keep a size each."""
        sizes: dict[str, Place] = {}
        for node in walk(formula.body):
            if not isinstance(node, Entry):
                continue
            shape = list(self.array(node.name).shape)
            leading = len(shape) - len(node.indices) + 1
            for index in node.indices:
                letter = index.letter if isinstance(index, Index) else ""
                count = leading if letter == LEADING else 1
                sizes[letter], shape = tuple(shape[:count]), shape[count:]
        for letter, size in SIZES.items():
            if letter not in sizes and size in self.scalars:
                sizes[letter] = (int(self.scalars[size]),)
        return sizes

    def unroll(self, node: Node, at: Mapping[str, Place], sizes: Mapping[str, Place]) -> Node:
        match node:
            case Index(letter=letter):
                return Number(at[letter][0])
            case Entry(name=name, indices=indices):
                places: list[Node] = []
                for index in indices:
                    if isinstance(index, Index):
                        places += [Number(place) for place in at[index.letter]]
                    else:
                        unrolled = rewrite(self.unroll(index, at, sizes), self.number)
                        places.append(Number(int(compute(unrolled))))
                return Entry(name, tuple(places))
            case Call(function="where", arguments=(condition, yes, no)):
                taken = compute(rewrite(self.unroll(condition, at, sizes), self.number))
                return self.unroll(yes if taken else no, at, sizes)
            case Reduction(kind=kind, letters=letters, body=body):
                axes = [product(*(range(n) for n in sizes[letter])) for letter in letters]
                terms = [
                    self.unroll(body, {**at, **dict(zip(letters, places, strict=True))}, sizes)
                    for places in product(*axes)
                ]
                if kind == "max":
                    return Call("max", tuple(terms))
                total = reduce(lambda left, right: Operation("+", left, right), terms)
                if kind == "mean":
                    count = prod(prod(sizes[letter]) for letter in letters)
                    return Operation("/", total, Number(count))
                return total
        return each(node, lambda part: self.unroll(part, at, sizes))
