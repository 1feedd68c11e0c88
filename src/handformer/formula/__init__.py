"""Formulas written once, as text: parsed, evaluated, expanded, differentiated, shown, mutated."""

from handformer.formula.differences import slope
from handformer.formula.evaluate import evaluate, evaluate_all
from handformer.formula.expand import Expansion, expand
from handformer.formula.expression import FormulaError
from handformer.formula.sheet import Formula, Sheet

__all__ = [
    "Expansion",
    "Formula",
    "FormulaError",
    "Sheet",
    "evaluate",
    "evaluate_all",
    "expand",
    "slope",
]
