"""A whole formula in one of three forms: nothing that is shown is typed by hand."""

from collections.abc import Mapping

from handformer.formula.display import WORDS
from handformer.formula.expression import Entry, Index, Node, Scalar
from handformer.formula.latex import latex
from handformer.formula.mathml import mathml
from handformer.formula.sheet import Formula
from handformer.formula.text import number, plain

__all__ = ["formula_latex", "formula_mathml", "formula_text", "latex", "mathml", "number", "plain"]


def _left(formula: Formula) -> Node:
    if not formula.axes:
        return Scalar(formula.name)
    return Entry(formula.name, tuple(Index(letter) for letter in formula.axes))


def formula_text(formula: Formula) -> str:
    """A whole formula as plain text, evenly spaced."""
    return f"{plain(_left(formula))} = {plain(formula.body)}"


def formula_latex(formula: Formula, words: Mapping[str, str] = WORDS) -> str:
    """A whole formula in LaTeX."""
    return f"{latex(_left(formula))} = {latex(formula.body, words=words)}"


def formula_mathml(formula: Formula) -> str:
    """A whole formula as a `<math>` element."""
    inside = f"{mathml(_left(formula))}<mo>=</mo>{mathml(formula.body)}"
    return f"<math xmlns='http://www.w3.org/1998/Math/MathML' display='block'>{inside}</math>"
