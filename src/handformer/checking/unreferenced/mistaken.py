"""Which rows of the catalogue reproduce a value: their edits of its formula, evaluated."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from handformer.checking.mistakes import CATALOGUE, Edit
from handformer.checking.mistakes.edited import edited, matches, told
from handformer.checking.unreferenced.expected import expected
from handformer.checking.unreferenced.seen import Given
from handformer.formula import FormulaError, Sheet

# In a single value show, too:
_MORE = (
    ("RES-5", Edit("out", "mid[b,t,i] -> x[b,t,i]", ("PreNormBlock",))),
    ("FFN-4", Edit("gate", "w_gate[i,f] -> w_up[i,f]", ("GatedMLP",))),
    ("FFN-4", Edit("up", "w_up[i,f] -> w_gate[i,f]", ("GatedMLP",))),
)


def mistaken(sheet: Sheet, layer: str, inside: Mapping[str, Given]) -> dict[str, str]:
    """What each row says of the only line of a sheet, where it gives what the dump has."""
    (right,) = sheet
    theirs, found = inside[right.name].array, dict[str, str]()
    for row, says, other in _others(sheet, layer):
        made = None if row in found else expected(other, right.name, inside)
        if made is not None and (np.abs(theirs - made[0]) <= made[1]).all():
            found[row] = says
    return found


@cache
def _others(sheet: Sheet, layer: str) -> tuple[tuple[str, str, Sheet], ...]:
    """Every row that edits the line in this layer, what it says, and what it makes of the line."""
    (right,) = sheet
    found = []
    for row, wrong, edit in _edits():
        if matches(edit, right.name) and layer in (edit.layers or (layer,)):
            try:
                other = edited(edit, sheet, right.name)
            except FormulaError:
                continue  # it speaks of letters that another line has
            if other is not None:
                found.append((row, told(wrong, edit.says, {}), other))
    return tuple(found)


@cache
def _edits() -> tuple[tuple[str, str, Edit], ...]:
    """Each edit by itself: of several that are made at once a line shows its own."""
    wrong = {row.id: row.wrong for row in CATALOGUE}
    each = [
        (row.id, edit)
        for row in CATALOGUE
        for edits in row.edits
        for edit in (edits if isinstance(edits, tuple) else (edits,))
    ]
    return tuple((row, wrong[row], edit) for row, edit in (*each, *_MORE))
