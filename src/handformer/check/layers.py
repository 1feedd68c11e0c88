"""Hold a layer, or a whole model, against the formulas of all its parts: every value, both
directions.

A layer's sheet speaks of the values below the layer's own path; so the same sheet serves wherever
the layer stands. A value without a formula must be another one seen from a second place: the
attention's input is the norm's output, the same numbers in the same memory.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.check.ops import Finding, distance
from handformer.formula import Formula, Sheet, evaluate
from handformer.layers.layer import Layer

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Stated:
    """One value's formula where it stands: the path of its layer, and that layer's sheet and
    numbers.
    """

    path: str
    scope: str
    formula: Formula
    sheet: Sheet
    scalars: Mapping[str, Any]


def table(layer: Layer, cache: Any, back: Any, **given: NDArray[Any]) -> Arrays:
    """Every array by dotted path: weights, values, gradients, and what was given from outside."""
    return {**tree.flatten(layer), **tree.flatten(cache), **tree.gradients(back), **given}


def numbers(cache: Any) -> dict[str, Any]:
    """The plain numbers that a cache holds (the dropout's rate in this pass), by dotted path."""
    return {path: part for path, part in tree.walk(cache) if isinstance(part, int | float)}


def stated(layer: Layer, cache: Any, back: Any) -> Iterator[Stated]:
    """The formula of every value of a layer and of its parts.

    What is None in a record is a part that this model doesn't have: its terms drop out.
    """
    passing = numbers(cache)
    absent = {path: None for record in (cache, back) for path, p in tree.walk(record) if p is None}
    for scope, part in tree.walk(layer):
        if isinstance(part, Layer):
            prefix = tree.join(scope, "")
            own = _below(passing, scope)
            scalars = {**part.scalars, **own}
            sheet = part.sheet.without(*_below(absent, scope))
            for formula in sheet:
                if formula.kept:
                    yield Stated(tree.join(scope, formula.name), prefix, formula, sheet, scalars)


def verify(layer: Layer, cache: Any, back: Any, values: Arrays) -> tuple[Finding, ...]:
    """Compare every value that has a formula with what the formula gives.

    A value that a formula states but `values` doesn't hold is infinitely far off.
    """
    findings = []
    scopes: dict[str, Arrays] = {}
    for one in stated(layer, cache, back):
        if one.scope not in scopes:
            scopes[one.scope] = _below(values, one.scope)
        inside = scopes[one.scope]
        if one.formula.name not in inside:
            findings.append(Finding(one.path, float("inf")))
            continue
        right = evaluate(one.sheet, one.formula.name, inside, one.scalars)
        findings.append(Finding(one.path, distance(inside[one.formula.name], right)))
    return tuple(findings)


def unexplained(
    layer: Layer, cache: Any, back: Any, values: Arrays, *, inputs: set[str]
) -> list[str]:
    """The values that have no formula, aren't weights or inputs, and aren't another value seen
    again.
    """
    known = {one.path for one in stated(layer, cache, back)} | set(tree.flatten(layer)) | inputs
    sources = [values[path] for path in known if path in values]
    return [
        path
        for path, array in values.items()
        if path not in known and not any(np.shares_memory(array, source) for source in sources)
    ]


def _below(values: Mapping[str, Any], scope: str) -> dict[str, Any]:
    if not scope:
        return dict(values)
    prefix = f"{scope}."
    return {path[len(prefix) :]: a for path, a in values.items() if path.startswith(prefix)}
