"""Letters exchanged for places, and abbreviations for what they stand for.

An abbreviation (`:=`) has no array of its own. Where only one of its entries is needed, or one for
each term of a sum, its formula is put in the place of its name:

    attn[0,s] = exp(scores[0,s] - top[0])       top[b] := max(r, scores[b,r])
              = exp(scores[0,s] - max(r', scores[0,r']))

The letter that it runs over becomes a new one, so that it can't meet one that runs already.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import LEADING
from handformer.formula.expression import (
    Entry,
    FormulaError,
    Index,
    Node,
    Number,
    Reduction,
    Scalar,
    each,
)
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import Shape, sizes

Place = tuple[int, ...]
Nodes = tuple[Node, ...]
Arrays = Callable[[Entry], NDArray[Any]]
MOST_UNFOLDED = 100_000  # in one explanation; each use of an abbreviation is one


def fix(node: Node, at: Mapping[str, Place]) -> Node:
    """The tree with some letters at their places; `b` stands at several, one for each axis."""
    return _put(node, {letter: tuple(map(Number, place)) for letter, place in at.items()})


def _put(node: Node, parts: Mapping[str, Nodes]) -> Node:
    """Exchange letters for nodes; one that a reduction runs over stays, or gets another name."""
    match node:
        case Index(letter=letter) if letter in parts:
            return parts[letter][0]
        case Entry(name=name, indices=indices):
            places: list[Node] = []
            for index in indices:
                if isinstance(index, Index) and index.letter in parts:
                    places += parts[index.letter]
                else:
                    places.append(_put(index, parts))
            return Entry(name, tuple(places), column=node.column)
        case Reduction(letters=letters, body=body) if {*letters} & parts.keys():
            new = {x: y.letter for x in letters for y in parts.get(x, ()) if isinstance(y, Index)}
            inner = {x: part for x, part in parts.items() if x not in letters or x in new}
            return replace(
                node, letters=tuple(new.get(x, x) for x in letters), body=_put(body, inner)
            )
    return each(node, lambda part: _put(part, parts))


class Abbreviations:
    """A sheet's abbreviations, to be put in where their names stand.

    `sizes` collects how far their letters run, under the new names.
    """

    def __init__(self, sheet: Sheet, values: Mapping[str, Any], scalars: Mapping[str, Any]) -> None:
        """`values` and `scalars`: what the sheet's formulas may mention."""
        self.sheet, self.values, self.scalars = sheet, values, scalars
        self.sizes: dict[str, Shape] = {}
        self._shapes: dict[str, Shape] = {}
        self._open: list[str] = []
        self._entered = 0

    def stands(self, node: Node) -> bool:
        """Whether a node is the name of an abbreviation, of which there is no array."""
        if not isinstance(node, Entry | Scalar) or node.name in self.values:
            return False
        return node.name in self.sheet and not self.sheet[node.name].kept

    def letters(self, formula: Formula, array: Arrays) -> dict[str, Shape]:
        """How far each letter of a formula runs; no abbreviation is evaluated for it.

        `array` gives the arrays of all other names.
        """

        def shaped(node: Entry) -> NDArray[Any]:
            if not self.stands(node):
                return array(node)
            return np.broadcast_to(np.zeros(()), self.shape(node, formula, array))

        return sizes(formula, shaped, self.scalars, self.values.get(formula.name))

    def shape(self, node: Entry, formula: Formula, array: Arrays) -> Shape:
        """The shape that an abbreviation's array would have."""
        if node.name not in self._shapes:
            inner = self._enter(node, formula)
            known = self.letters(inner, array)
            self._shapes[node.name] = tuple(n for letter in inner.axes for n in known[letter])
            self._open.pop()
        return self._shapes[node.name]

    def written_out(self, node: Node, formula: Formula, array: Arrays) -> Node:
        """A tree of `formula` with every abbreviation exchanged for what it stands for."""
        if not isinstance(node, Entry | Scalar) or not self.stands(node):
            return each(node, lambda part: self.written_out(part, formula, array))
        inner = self._enter(node, formula)
        indices = node.indices if isinstance(node, Entry) else ()
        parts = dict(_split(inner.axes, indices))
        known = self.letters(inner, array)
        for letter in [one for one in known if one not in parts and one != LEADING]:
            new = f"{letter}'{len(self.sizes)}"
            self.sizes[new] = known[letter]
            parts[letter] = (Index(new),)
        found = self.written_out(_put(inner.body, parts), inner, array)
        self._open.pop()
        return found

    def _enter(self, node: Entry | Scalar, formula: Formula) -> Formula:
        if node.name in self._open:
            raise FormulaError(formula.text, node.column, f"{node.name} is needed for itself")
        self._entered += 1
        if self._entered > MOST_UNFOLDED:
            reason = f"its abbreviations unfold into more than {MOST_UNFOLDED:,} others"
            raise FormulaError(formula.text, node.column, reason)
        self._open.append(node.name)
        return self.sheet[node.name]


def _split(axes: tuple[str, ...], indices: Nodes) -> list[tuple[str, Nodes]]:
    """The places of each axis; `b` has all that the others leave."""
    found, start = [], 0
    for letter in axes:
        stop = start + 1 + (len(indices) - len(axes)) * (letter == LEADING)
        found.append((letter, indices[start:stop]))
        start = stop
    return found
