"""What a formula gives of values in a dump, and how far rounding may take theirs from it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.unreferenced.seen import Given
from handformer.formula import FormulaError, Sheet
from handformer.formula.rounding import bounded

OWN = 2  # a value's own rounding, as it was made and as it was stored


def expected(
    sheet: Sheet, name: str, inside: Mapping[str, Given]
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The value, and what rounding explains; None where the shapes don't fit the formula."""
    used = [formula for formula in sheet if formula.name == name or not formula.kept]
    names = {part for formula in used for part in formula.inputs if part in inside}
    parts, one = [inside[part] for part in names], inside[name]
    unit = max(part.unit for part in (one, *parts))
    values = {part: inside[part].array for part in names} | {name: one.array}
    errors = {part: inside[part].error for part in names if inside[part].array.dtype.kind == "f"}
    try:
        right = bounded(sheet, name, values, _numbers(inside, one), unit=unit, errors=errors)
    except (FormulaError, ValueError, IndexError):
        return None
    if right.value.shape != one.array.shape:
        return None
    return right.value, right.error + OWN * one.error


def _numbers(inside: Mapping[str, Given], one: Given) -> dict[str, int]:
    """The sizes that formulas mention: from the value, or from what it is made of."""
    heads = inside.get("context", one) if one.path.endswith("out") else one
    shape = heads.array.shape
    found = {"d_k": shape[-1]} if shape else {}
    return found | ({"n_heads": shape[-3]} if len(shape) >= 3 else {})


def for_heads(one: Given, weights: Given) -> Given | None:
    """One for each head of the weights, where several share one; None where that can't be."""
    array, heads = one.array, weights.array.shape[-3] if weights.array.ndim >= 3 else 1
    if array.ndim < 3 or array.shape[-3] == heads or weights.array.ndim != array.ndim:
        return one
    if heads % array.shape[-3]:
        return None
    return Given(one.path, one.called, np.repeat(array, heads // array.shape[-3], axis=-3),
                 one.unit, one.quantum)  # fmt: skip
