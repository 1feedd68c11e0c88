"""Whether a term of the formula is missing, or counts twice: its terms are fitted to theirs."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from handformer.checking.case import Step
from handformer.checking.compare import AnyArray
from handformer.checking.desk import Desk
from handformer.checking.inside import Numbers
from handformer.formula import Formula, FormulaError, Sheet, evaluate
from handformer.formula.expression import Negative, Node, Operation
from handformer.formula.rounding import Rounded
from handformer.formula.text import plain

MOST = 4_000_000  # entries in a fit


def sums(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> Iterator[str]:
    """What the terms have to be multiplied by, where a fit is exact."""
    formula = step.formula
    if formula is None:
        return
    found = list(_terms(formula.body))
    if len(found) < 2 or theirs.size * len(found) > MOST or theirs.size < len(found) + 2:
        return
    try:
        columns = [_evaluated(desk, step, formula, node) for node in found]
    except (FormulaError, KeyError, ValueError):
        return
    table = np.stack([column.ravel() for column in columns], axis=1)
    if np.linalg.matrix_rank(table) < len(found):
        return
    counts, *_ = np.linalg.lstsq(table, theirs.ravel(), rcond=None)
    size = np.abs(table) @ (1 + np.abs(counts))
    allowed = right.error.ravel() + 1e-6 * size
    if not (np.abs(table @ counts - theirs.ravel()) <= allowed).all():
        return
    for node, count in zip(found, counts, strict=True):
        if abs(count - 1) > 1e-3:
            yield f"the term {plain(node)} {_said(float(count))}"


def _said(count: float) -> str:
    if abs(count) < 1e-3:
        return "is missing"
    if abs(count - 2) < 1e-3:
        return "counts twice"
    if abs(count + 1) < 1e-3:
        return "has the wrong sign"
    return f"counts {count:.4g} times"


def _terms(body: Node) -> Iterator[Node]:
    """The terms of the outermost sum, products multiplied out: each with its own sign."""
    match body:
        case Operation(operator="+", left=left, right=right):
            yield from _terms(left)
            yield from _terms(right)
        case Operation(operator="-", left=left, right=right):
            yield from _terms(left)
            yield from (Negative(term) for term in _terms(right))
        case Negative(part=part):
            yield from (Negative(term) for term in _terms(part))
        case Operation(operator="*", left=left, right=right):
            for one in _terms(left):
                yield from (replace(body, left=one, right=other) for other in _terms(right))
        case Operation(operator="/", left=left):
            yield from (replace(body, left=one) for one in _terms(left))
        case _:
            yield body


def _evaluated(desk: Desk, step: Step, formula: Formula, node: Node) -> AnyArray:
    """One term's numbers, from their own earlier values."""
    sheet = desk.case.sheet(step)
    alone = Formula.build(formula.name, formula.axes, node)
    lines = tuple(alone if line.name == formula.name else line for line in sheet)
    values = Numbers(desk, step)
    scalars = desk.case.placed[step.scope].scalars
    return np.asarray(evaluate(Sheet(lines), formula.name, values, scalars), np.float64)
