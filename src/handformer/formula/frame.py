"""One formula under evaluation.

Every letter of a formula has an axis of its own, in one fixed order; a part that doesn't depend on
a letter has length 1 there. So parts combine by broadcasting.

Leading axes are decided here and in `sizes`, once: the letter `b` stands for any number of leading
axes, none included, the same ones wherever it stands in a formula. They are folded into one axis,
and unfolded in the result.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.arithmetic import CONSTANTS, FUNCTIONS, OPERATORS, counted, total
from handformer.formula.contraction import Factor, contract, factors, pays
from handformer.formula.expression import (
    Call,
    Entry,
    FormulaError,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
)
from handformer.formula.sheet import Formula
from handformer.formula.sizes import Shape, fold, sizes, split

if TYPE_CHECKING:
    from handformer.formula.evaluate import Evaluation

At = Mapping[str, int | Sequence[int]]
_AnyArray = NDArray[Any]


class Frame:
    """One formula under evaluation: its letters, how far they run, and where it is evaluated."""

    def __init__(
        self,
        owner: "Evaluation",
        formula: Formula,
        at: At,
        known: Mapping[str, Shape] | None,
    ) -> None:
        self.owner, self.formula, self.at = owner, formula, at
        self.letters = formula.letters
        own = owner.given.get(formula.name)
        self.sizes = known or sizes(formula, self._array, owner.scalars, own)

    def _fail(self, node: Node, reason: str) -> FormulaError:
        return FormulaError(self.formula.text, node.column, reason)

    def _array(self, node: Entry | Scalar) -> _AnyArray:
        return self.owner.array(node, self.formula)

    def value(self) -> _AnyArray:
        """The whole formula's value, a new array."""
        return np.array(self.whole(self.read(self.formula.body, True)))

    def whole(self, part: Any) -> _AnyArray:
        """What the formula comes to, as an array with the axes of the left in their order."""
        axes = self.formula.axes
        result = np.asarray(part)
        result = result.reshape((1,) * (len(self.letters) - result.ndim) + result.shape)
        # The letters of the left come first, in its order; the others have been run over.
        result = result.reshape(result.shape[: len(axes)])
        counts: list[Shape] = [
            (np.size(self.at[x]),) if x in self.at else self.sizes[x] for x in axes
        ]
        full = np.broadcast_to(result, fold(counts))
        return full.reshape([n for count in counts for n in count])

    def along(self, letter: str) -> _AnyArray:
        """The places of a letter, along that letter's own axis."""
        size = math.prod(self.sizes[letter])
        places = np.ravel(self.at[letter]) if letter in self.at else np.arange(size)
        shape = [1] * len(self.letters)
        shape[self.letters.index(letter)] = places.size
        return places.reshape(shape)

    def read(self, node: Node, live: Any) -> Any:
        """A part's value; only where `live` is true does it matter."""
        match node:
            case Number(value=value):
                exact = self.owner.exact and isinstance(value, float)
                return self.owner.number(Fraction(str(value)) if exact else value)
            case Index(letter=letter):
                return self.owner.number(self.along(letter))
            case Scalar():
                return self._scalar(node)
            case Entry():
                return self._entry(node, live)
            case Negative(part=part):
                return np.negative(counted(self.read(part, live)))
            case Operation(operator=operator, left=left, right=right):
                return OPERATORS[operator](self.read(left, live), self.read(right, live))
            case Call(function="where", arguments=(condition, yes, no)):
                taken = np.asarray(self.read(condition, live), dtype=bool)
                one = self.read(yes, np.logical_and(live, taken))
                other = self.read(no, np.logical_and(live, ~taken))
                return np.where(taken, one, other)
            case Call(function=function, arguments=(part,)):
                inside = self.read(part, live)
                if np.asarray(inside).dtype == object:
                    raise self._fail(node, f"{function} isn't exact: give floats, not fractions")
                return FUNCTIONS[function](inside)
            case Reduction():
                return self._reduction(node, live)
        raise AssertionError(node)

    def _scalar(self, node: Scalar) -> Any:
        if node.name in CONSTANTS:
            return CONSTANTS[node.name]
        if node.name in self.owner.scalars:
            return self.owner.number(self.owner.scalars[node.name])
        array = self._array(node)
        if array.ndim:
            raise self._fail(
                node, f"{node.name} has {array.ndim} axes: name its places in brackets"
            )
        return self.owner.number(array)

    def _entry(self, node: Entry, live: Any) -> _AnyArray:
        return self.lookup(node, self._array(node), live)

    def lookup(self, node: Entry, array: _AnyArray, live: Any) -> _AnyArray:
        """What stands in an array at the places of an entry."""
        array = array.reshape(fold(split(self.formula, node, array.shape)))
        plain = [place.letter for place in node.indices if isinstance(place, Index)]
        if len({*plain}) == array.ndim:  # nothing to look up: only to line up
            for axis, letter in enumerate(plain):
                array = some(array, self.at[letter], axis) if letter in self.at else array
            axes = [self.letters.index(letter) for letter in plain]
            shape = [1] * len(self.letters)
            for axis, size in zip(axes, array.shape, strict=True):
                shape[axis] = size
            return self.owner.number(array).transpose(np.argsort(axes)).reshape(shape)
        pairs = zip(node.indices, array.shape, strict=True)
        places = tuple(self._inside(node, place, size, live) for place, size in pairs)
        return self.owner.number(array[places])

    def _inside(self, node: Entry, place: Node, size: int, live: Any) -> NDArray[np.intp]:
        """Places along one axis of an array; wrong ones only where they don't matter."""
        at = np.asarray(self.read(place, live))
        wrong = (at < 0) | (at >= size) | (at % 1 != 0)
        if wrong.any():
            if (matters := wrong & live).any():
                odd = np.broadcast_to(at, matters.shape)[matters].flat[0]
                raise self._fail(place, f"place {odd} is outside {node.name} (0 to {size - 1})")
            at = np.where(wrong, 0, at)
        return np.asarray(at, dtype=np.intp)

    def length(self, letter: str) -> int:
        """How many places of a letter are looked at."""
        return int(self.along(letter).size)

    def _reduction(self, node: Reduction, live: Any) -> _AnyArray:
        found = None if node.kind == "max" or self.owner.exact else self._contracted(node, live)
        if found is not None:
            return found
        full, axes = self.spread(node, self.read(node.body, live))
        return np.asarray(total(node.kind, full, axes))

    def _contracted(self, node: Reduction, live: Any) -> _AnyArray | None:
        found = self.product(node, live)
        if found is None:
            return None
        arrays = [array for _, array in found]
        mean = self.count(node.letters) if node.kind == "mean" else 1
        return contract(arrays, self.axes(node.letters), self.lengths) / mean

    def product(self, node: Reduction, live: Any) -> list[tuple[Factor, _AnyArray]] | None:
        """The factors of a sum of products, if its terms needn't be written out."""
        product = factors(node.body)
        if not pays(product, node.letters, self.length):
            return None
        try:
            arrays = [np.asarray(self.read(one.node, live)) for one in product]
        except FormulaError:
            return None  # a place that only a condition makes right
        if all(array.dtype.kind != "f" for array in arrays):
            return None
        if any(one.choice for one in product) and not all(np.isfinite(a).all() for a in arrays):
            return None  # 0 times infinity isn't 0
        return list(zip(product, arrays, strict=True))

    def axes(self, letters: Iterable[str]) -> tuple[int, ...]:
        """Along which axes some letters stand."""
        return tuple(self.letters.index(letter) for letter in letters)

    @property
    def lengths(self) -> Shape:
        """How many places of each letter are looked at."""
        return tuple(map(self.length, self.letters))

    def count(self, letters: Iterable[str]) -> int:
        """How many places some letters have together."""
        return math.prod(map(self.length, letters))

    def spread(self, node: Reduction, body: Any) -> tuple[_AnyArray, tuple[int, ...]]:
        """A reduction's terms, as many as there are, and the axes along which they stand."""
        axes = self.axes(node.letters)
        shape = [1] * len(self.letters)
        for letter, axis in zip(node.letters, axes, strict=True):
            shape[axis] = self.length(letter)
        found = np.asarray(body)
        return np.broadcast_to(found, np.broadcast_shapes(found.shape, tuple(shape))), axes


def some(array: _AnyArray, places: int | Sequence[int], axis: int) -> _AnyArray:
    """An array at some places of an axis; without a copy, where they are a range.

    Places outside are an IndexError.
    """
    if isinstance(places, range) and places.step == 1 and places.start >= 0:
        if places.stop > array.shape[axis]:
            raise IndexError(f"place {places.stop - 1} of {array.shape[axis]}")
        return array[(slice(None),) * axis + (slice(places.start, places.stop),)]
    return np.take(array, np.ravel(places), axis=axis)
