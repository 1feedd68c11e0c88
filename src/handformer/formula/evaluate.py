"""Evaluate formulas, slowly and plainly: the oracle that every op is held against.

Floats are float64. Where an array that a formula needs holds `fractions.Fraction` (dtype object),
everything is exact, and a root or exponential is an error. Given arrays stay as they are until
something is looked up in them: one entry of a table doesn't cost a copy of the table.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.expression import Entry, FormulaError, Scalar
from handformer.formula.frame import At, Frame
from handformer.formula.mentions import mentions
from handformer.formula.names import unknown
from handformer.formula.sheet import Formula, Sheet
from handformer.formula.sizes import Shape

__all__ = ["At", "Evaluation", "Scalars", "Values", "evaluate", "evaluate_all"]

Values = Mapping[str, NDArray[Any]]
Scalars = Mapping[str, Any]
_AnyArray = NDArray[Any]


def evaluate(
    sheet: Sheet,
    name: str,
    values: Values,
    scalars: Scalars,
    *,
    at: At | None = None,
) -> _AnyArray:
    """The value that the formula of `name` gives, a new array of float64 (or int64, bool, object).

    Parameters
    ----------
    sheet
        where the formula stands; a name on the right that isn't in `values` is evaluated from its
        own formula there
    values
        arrays by name
    scalars
        the config's numbers, and the sizes of letters that no array tells (where `values` holds
        the value itself, its shape tells them)
    at
        places of the axes on the left, to evaluate one entry or some of them: a number (the result
        has length 1 there) or several; `b` counts the leading axes as one

    Raises
    ------
    FormulaError
        for an unknown name, an index used with two sizes, a wrong number of axes, or a place
        outside an array
    """
    with np.errstate(all="ignore"):  # `where` evaluates both sides; the unwanted one may overflow
        return Evaluation(sheet, values, scalars, [name]).value(sheet[name], at or {})


def evaluate_all(sheet: Sheet, values: Values, scalars: Scalars) -> dict[str, _AnyArray]:
    """Every kept value of the sheet, each from `values` and the ones before it, by name."""
    evaluation = Evaluation(sheet, values, scalars, [formula.name for formula in sheet])
    with np.errstate(all="ignore"):
        for formula in sheet:
            if formula.kept:
                evaluation.known[formula.name] = evaluation.value(formula, {})
    return {formula.name: evaluation.known[formula.name] for formula in sheet if formula.kept}


class Evaluation:
    """The arrays known so far; one that isn't given is evaluated from its own formula, once."""

    floating: Any = np.float64

    def __init__(
        self, sheet: Sheet, values: Values, scalars: Scalars, names: Iterable[str]
    ) -> None:
        """`names`: the formulas that are to be evaluated."""
        self.sheet, self.scalars, self.given = sheet, scalars, values
        formulas = map(sheet.__getitem__, names)
        needed = mentions(sheet, formulas, lambda name: name not in values and name in sheet)
        read = (name for name, placed in needed.items() if placed or name not in scalars)
        given = (values[name] for name in read if name in values)
        self.exact = any(_dtype(array).kind == "O" for array in given)
        self.known: dict[str, _AnyArray] = {}
        self.pending: list[str] = []

    def number(self, value: Any) -> _AnyArray:
        """Whatever comes in, as float64, int64, bool, or exactly."""
        array = np.asarray(value)
        if self.exact and array.dtype.kind in "iuO":
            return np.asarray(np.frompyfunc(Fraction, 1, 1)(array), dtype=object)
        dtype = {"f": self.floating, "O": self.floating, "i": np.int64, "u": np.int64}
        return array.astype(dtype.get(array.dtype.kind, array.dtype), copy=False)

    def value(
        self, formula: Formula, at: At, known: Mapping[str, Shape] | None = None
    ) -> _AnyArray:
        """The value of a formula; `known` sizes of its letters aren't worked out again."""
        self.pending.append(formula.name)
        found = self.frame(formula, at, known).value()
        self.pending.remove(formula.name)
        return found

    def frame(self, formula: Formula, at: At, known: Mapping[str, Shape] | None) -> "Frame":
        """A formula under evaluation."""
        return Frame(self, formula, at, known)

    def array(self, node: Entry | Scalar, formula: Formula) -> _AnyArray:
        """The array that a formula names; a given one as it was given."""
        name = node.name
        if name not in self.known and name in self.given:
            self.known[name] = np.asarray(self.given[name])
        if name not in self.known:
            if name not in self.sheet:
                known = {*self.given, *self.scalars, *(f.name for f in self.sheet)}
                raise FormulaError(formula.text, node.column, unknown("name", name, known))
            if name in self.pending:
                raise FormulaError(formula.text, node.column, f"{name} is needed for itself")
            self.known[name] = self.value(self.sheet[name], {})
        return self.known[name]


def _dtype(array: Any) -> Any:
    return array.dtype if isinstance(array, np.ndarray) else np.asarray(array).dtype
