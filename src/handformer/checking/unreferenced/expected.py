"""What a formula gives of values in a dump, and how far rounding may take theirs from it."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from handformer.checking.unreferenced.seen import Given
from handformer.formula import FormulaError, Sheet
from handformer.formula.rounding import bounded

OWN = 2  # a value's own rounding, as it was made and as it was stored
# What tells the sizes that formulas mention, on the side of the queries and of the keys.
_QUERIES, _KEYS, _WIDE = ("context", "q"), ("v", "k"), ("post", "pre", "up", "gate")


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
        right = bounded(sheet, name, values, _numbers(inside, name), unit=unit, errors=errors)
    except (FormulaError, ValueError, IndexError):
        return None
    if right.value.shape != one.array.shape:
        return None
    return right.value, right.error + OWN * one.error


def _numbers(inside: Mapping[str, Given], name: str) -> dict[str, int]:
    """The sizes that formulas mention, as far as arrays tell them."""
    found = {"d_model": inside.get("x", inside[name]).array.shape[-1]}
    for part in _WIDE:
        if part in inside:
            found["d_ff"] = inside[part].array.shape[-1]
    for side, sizes in ((_KEYS, "n_kv_heads n_keys d_k"), (_QUERIES, "n_heads n_queries d_k")):
        told = (name,) if name in side else side
        shape = next((inside[part].array.shape for part in told if part in inside), ())
        found |= zip(reversed(sizes.split()), reversed(shape), strict=False)
    heads, shared = found.get("n_heads", 1), found.get("n_kv_heads", 1)
    return found | ({} if heads % shared else {"group": heads // shared})
