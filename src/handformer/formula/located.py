"""A formula at one place: its letters stand there, and its parts have numbers.

Nothing is worked out for other places than the ones that are asked for, not even an abbreviation.
"""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.arithmetic import CONSTANTS
from handformer.formula.evaluate import Evaluation, Scalars, Values
from handformer.formula.expression import (
    Entry,
    FormulaError,
    Node,
    Number,
    Reduction,
    Scalar,
    free,
    walk,
)
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import Shape
from handformer.formula.substitute import Abbreviations, Place, fix

MOST_TERMS = 100_000_000  # of one sum: numbers that are worked out at once


class Located:
    """The formula of one value at one of its places.

    `body` is the right side with the letters of the left in their places, `sizes` says how far
    every letter runs.
    """

    def __init__(
        self, sheet: Sheet, name: str, place: Place, values: Values, scalars: Scalars
    ) -> None:
        """`place`: one number an axis, leading axes included.

        Raises
        ------
        IndexError
            where there is no such place
        FormulaError
            for an unknown name, or letters that don't fit
        """
        self.formula, self.scalars = sheet[name], scalars
        self.evaluation = Evaluation(sheet, values, scalars, [name])
        self.abbreviations = Abbreviations(sheet, values, scalars)
        self._letters = self.abbreviations.letters(self.formula, self.array)
        self._numbers: dict[Node, Any] = {}
        self.place = tuple(int(at) for at in place)
        self.body = fix(self.formula.body, self._at(self.place))

    @property
    def sizes(self) -> dict[str, Shape]:
        """How far each letter runs, those of abbreviations that were written out among them."""
        return {**self._letters, **self.abbreviations.sizes}

    def _at(self, place: Place) -> dict[str, Place]:
        """Where each letter of the left stands; `b` at several places, one an axis."""
        at: dict[str, Place] = {}
        shape: Place = ()
        start = 0
        for letter in self.formula.axes:
            size = self._letters[letter]
            at[letter] = place[start : start + len(size)]
            shape += size
            start += len(size)
        if len(place) != start or not all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            left = self.formula.text.partition("=")[0].rstrip(" :")
            raise IndexError(f"{left} has the shape {shape}: there is no place {place}")
        return at

    def array(self, node: Entry | Scalar) -> NDArray[Any]:
        """The array of a name, as it was given."""
        return self.evaluation.array(node, self.formula)

    def shape(self, entry: Entry) -> Shape:
        """The shape of what an entry is taken from."""
        if not self.abbreviations.stands(entry):
            return self.array(entry).shape
        return self.abbreviations.shape(entry, self.formula, self.array)

    def number(self, node: Node) -> Node:
        """An entry at its place, or a bare name, as a number; any other node as it is."""
        match node:
            case Entry() | Scalar() if self.abbreviations.stands(node):
                if node not in self._numbers:
                    self._numbers[node] = _plain(self.over(node, ()))
                return Number(self._numbers[node])
            case Entry():
                return Number(_plain(self.evaluation.number(self.array(node)[place_of(node)])))
            case Scalar(name=name) if name in CONSTANTS:
                return Number(CONSTANTS[name])
            case Scalar(name=name) if name in self.scalars:
                return Number(_plain(self.scalars[name]))
            case Scalar():
                return Number(_plain(self.evaluation.number(self.array(node)[()])))
        return node

    def written_out(self, node: Node, letters: tuple[str, ...]) -> Formula:
        """A part as a formula over some letters, with no abbreviation in it."""
        body = self.abbreviations.written_out(node, self.formula, self.array)
        return replace(self.formula, name="", axes=letters, body=body)

    def over(self, node: Node, letters: tuple[str, ...]) -> NDArray[Any]:
        """The values of a part over some letters, an axis each."""
        formula = self.written_out(node, letters)
        self._require_room(formula)
        with np.errstate(all="ignore"):  # `where` evaluates both sides
            return self.evaluation.value(formula, {}, self.sizes)

    def _require_room(self, formula: Formula) -> None:
        """Refuse a part that takes more numbers than there is room for."""
        sums = (node for node in walk(formula.body) if isinstance(node, Reduction))
        for letters, body in (
            (formula.axes, formula.body), *((node.letters, node.body) for node in sums),
        ):  # fmt: skip
            running = {*letters, *free(body)}
            count = prod(n for letter in running for n in self.sizes[letter])
            if count > MOST_TERMS:
                reason = f"{count:,} terms: expected at most {MOST_TERMS:,}"
                raise FormulaError(self.formula.text, 0, reason)


def place_of(entry: Entry) -> Place:
    """Where an entry stands whose letters are all in their places."""
    return tuple(place.value for place in entry.indices if isinstance(place, Number))


def _plain(value: Any) -> Any:
    """A number of Python; a fraction stays one."""
    return value.item() if isinstance(value, np.generic | np.ndarray) else value
