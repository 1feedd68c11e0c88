"""Evaluate formulas, slowly and plainly: the oracle that every op is held against.

Every letter of a formula has an axis of its own, in one fixed order; a part that doesn't depend on a
letter has length 1 there. So parts combine by broadcasting, and nothing is ever transposed.

Leading axes are decided here, once: the letter `b` stands for any number of leading axes, none
included, the same ones wherever it stands. They are folded into one axis and unfolded in the result.

Floats are float64. Arrays of `fractions.Fraction` (dtype object) stay exact where no root or
exponential occurs.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import LEADING, SIZES
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
    walk,
)
from handformer.formula.sheet import Formula, Sheet

Values = Mapping[str, NDArray[Any]]
Scalars = Mapping[str, Any]
_AnyArray = NDArray[Any]

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide,
    "%": np.mod, "**": np.power, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal, "and": np.logical_and,
    "or": np.logical_or,
}  # fmt: skip
_REDUCTIONS: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "mean": np.mean}
CONSTANTS = {"pi": math.pi, "inf": math.inf}


def _erf(x: _AnyArray) -> _AnyArray:
    from scipy.special import erf

    return np.asarray(erf(x))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "erf": _erf, "sin": np.sin,
    "cos": np.cos, "where": np.where,
}  # fmt: skip


def evaluate(
    sheet: Sheet,
    name: str,
    values: Values,
    scalars: Scalars,
    *,
    at: Mapping[str, int] | None = None,
) -> _AnyArray:
    """The value that the formula of `name` gives.

    Parameters
    ----------
    sheet
        where the formula stands; a name on the right that isn't in `values` is evaluated from its
        own formula there
    values
        arrays by name
    scalars
        the config's numbers, and the sizes of letters that no array tells
    at
        places of the axes on the left, to evaluate one entry (the result has length 1 there)

    Raises
    ------
    FormulaError
        for an unknown name, an index used with two sizes, or a place outside an array
    """
    with np.errstate(all="ignore"):  # `where` evaluates both sides; the unwanted one may overflow
        return _Evaluation(sheet, dict(values), scalars, at or {}).value(sheet[name])


def evaluate_all(sheet: Sheet, values: Values, scalars: Scalars) -> dict[str, _AnyArray]:
    """Every kept value of the sheet, each from `values` and the ones before it, by name."""
    known = dict(values)
    for formula in sheet:
        if formula.kept:
            known[formula.name] = evaluate(sheet, formula.name, known, scalars)
    return {formula.name: known[formula.name] for formula in sheet if formula.kept}


class _Evaluation:
    def __init__(
        self, sheet: Sheet, values: dict[str, _AnyArray], scalars: Scalars, at: Mapping[str, int]
    ) -> None:
        self.sheet, self.values, self.scalars, self.at = sheet, values, scalars, at

    def array(self, entry: Entry | Scalar, text: str) -> _AnyArray:
        """An array by name: a stored one, or one evaluated from its own formula."""
        if entry.name not in self.values:
            if entry.name not in self.sheet:
                known = ", ".join(sorted({*self.values, *(f.name for f in self.sheet)}))
                raise FormulaError(
                    text, entry.column, f"unknown name {entry.name}; there are {known}"
                )
            whole = _Evaluation(self.sheet, self.values, self.scalars, {})
            self.values[entry.name] = whole.value(self.sheet[entry.name])
        array = np.asarray(self.values[entry.name])
        return array.astype(np.float64) if array.dtype.kind == "f" else array

    def value(self, formula: Formula) -> _AnyArray:
        frame = _Frame(self, formula)
        result = np.broadcast_to(frame.read(formula.body), frame.shape(formula.axes))
        order = [frame.letters.index(letter) for letter in formula.axes]
        rest = [place for place in range(len(frame.letters)) if place not in order]
        plain = result.transpose(*order, *rest).reshape([result.shape[place] for place in order])
        if LEADING in formula.axes and LEADING not in self.at:
            where = formula.axes.index(LEADING)
            shape = plain.shape
            plain = plain.reshape(shape[:where] + frame.leading + shape[where + 1 :])
        return plain


class _Frame:
    """One formula under evaluation: its letters, their sizes, and the leading axes."""

    def __init__(self, owner: _Evaluation, formula: Formula) -> None:
        self.owner, self.formula, self.text = owner, formula, formula.text
        letters = list(formula.axes)
        for node in walk(formula.body):
            if isinstance(node, Reduction):
                letters += [letter for letter in node.letters if letter not in letters]
        self.letters = letters
        self.leading: tuple[int, ...] = ()
        self.sizes: dict[str, tuple[int, str]] = {}
        self.folded: dict[str, _AnyArray] = {}
        led = False
        for node in walk(formula.body):
            if isinstance(node, Entry):
                led = self.measure(node, led)

    def fail(self, node: Node, reason: str) -> FormulaError:
        return FormulaError(self.text, node.column, reason)

    def measure(self, entry: Entry, led: bool) -> bool:
        """Take the sizes of letters, and the leading axes, from an array that is indexed by them."""
        array = self.owner.array(entry, self.text)
        places = [p.letter if isinstance(p, Index) else "" for p in entry.indices]
        if LEADING in places:
            count = array.ndim - len(places) + 1
            if count < 0:
                raise self.fail(entry, f"{entry.name} has only {array.ndim} axes")
            where = places.index(LEADING)
            shape = array.shape[where : where + count]
            if led and shape != self.leading:
                reason = f"index b runs over {self.leading} elsewhere and {shape} in {entry.name}"
                raise self.fail(entry, reason)
            self.leading, led = shape, True
            folded = array.shape[:where] + (math.prod(shape),) + array.shape[where + count :]
            array = array.reshape(folded)
        if array.ndim != len(places):
            raise self.fail(entry, f"{entry.name} has {array.ndim} axes, not {len(places)}")
        for letter, size in zip(places, array.shape, strict=True):
            if letter and letter in self.sizes and self.sizes[letter][0] != size:
                known, source = self.sizes[letter]
                reason = f"index {letter} runs over {known} in {source} and {size} in {entry.name}"
                raise self.fail(entry, reason)
            if letter:
                self.sizes[letter] = size, entry.name
        self.folded[entry.name] = array
        return led

    def size(self, letter: str) -> int:
        if letter in self.sizes:
            return self.sizes[letter][0]
        stored = self.owner.values.get(self.formula.name)
        if stored is not None and letter in self.formula.axes:  # the value's own shape tells it
            return int(stored.shape[self.formula.axes.index(letter) - len(self.formula.axes)])
        if SIZES.get(letter) in self.owner.scalars:
            return int(self.owner.scalars[SIZES[letter]])
        raise FormulaError(self.text, 0, f"nothing tells how far index {letter} runs")

    def shape(self, axes: tuple[str, ...]) -> tuple[int, ...]:
        """The full shape in which a result with these axes stands; the other letters are run over."""
        return tuple(
            1 if letter not in axes or letter in self.owner.at else self.size(letter)
            for letter in self.letters
        )

    def index(self, letter: str) -> _AnyArray:
        """The places of a letter, along that letter's own axis."""
        at = self.owner.at.get(letter)
        places = np.arange(self.size(letter)) if at is None else np.array([at])
        shape = [1] * len(self.letters)
        shape[self.letters.index(letter)] = places.size
        return places.reshape(shape)

    def read(self, node: Node) -> Any:
        match node:
            case Number(value=value):
                return value
            case Index(letter=letter):
                return self.index(letter)
            case Scalar(name=name):
                return self.scalar(node, name)
            case Entry():
                return self.entry(node)
            case Negative(part=part):
                return np.negative(self.read(part))
            case Operation(operator=operator, left=left, right=right):
                return OPERATORS[operator](self.read(left), self.read(right))
            case Call(function=function, arguments=arguments):
                return FUNCTIONS[function](*(self.read(part) for part in arguments))
            case Reduction(kind=kind, letters=letters, body=body):
                shape = [
                    self.size(letter) if letter in letters else 1 for letter in self.letters
                ]
                part = np.asarray(self.read(body))
                full = np.broadcast_shapes(part.shape, tuple(shape))
                axes = tuple(self.letters.index(letter) for letter in letters)
                return _REDUCTIONS[kind](np.broadcast_to(part, full), axis=axes, keepdims=True)
        raise AssertionError(node)

    def scalar(self, node: Scalar, name: str) -> Any:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in self.owner.scalars:
            return self.owner.scalars[name]
        return self.owner.array(node, self.text)

    def entry(self, node: Entry) -> _AnyArray:
        array = self.folded[node.name]
        places = []
        for place, size in zip(node.indices, array.shape, strict=True):
            at = np.asarray(self.read(place))
            if at.size and not (at.min() >= 0 and at.max() < size):
                outside = at.min() if at.min() < 0 else at.max()
                raise self.fail(node, f"place {outside} is outside {node.name} (0 to {size - 1})")
            places.append(at.astype(np.intp))
        return array[tuple(places)]
