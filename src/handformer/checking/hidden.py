"""Scores that somebody wrote after hiding the future: what no query may see isn't compared."""

from dataclasses import replace

import numpy as np

from handformer.checking.case import Case, Step
from handformer.checking.theirs import Theirs

SCORES, MASK = "scores", "mask"


def seen(case: Case, step: Step, one: Theirs) -> Theirs:
    """Their array of a value; of scores, what the mask hides is exchanged for the right numbers.

    It is hidden if all of it is one number, whichever, or if it is far below everything else.
    """
    path = case.find(step.scope, MASK)
    if step.name.rpartition(".")[2] != SCORES or path is None:
        return one
    hidden = ~np.broadcast_to(case.trace[path], step.value.shape)
    right = case.trace[step.path]
    filled = one.array[hidden]
    if not np.isfinite(one.array[~hidden]).all():
        return one
    if not filled.size or _alike(filled, right[hidden], one.unit):
        return one
    fill = float(filled.flat[0])
    same = bool((filled == fill).all() | np.isnan(filled).all())
    low = bool((filled < -1e3).all())
    if not (same or low):
        return one
    said = f"masked already: hidden entries hold {fill:g}" + ("" if same else " and thereabouts")
    note = f"{one.note}; {said}" if one.note else said
    array = np.where(hidden, right, one.array).astype(one.array.dtype)
    return replace(one, array=array, note=note)


def _alike(found: object, right: object, unit: float) -> bool:
    return bool(np.allclose(np.asarray(found), np.asarray(right), rtol=1e3 * unit, atol=1e3 * unit))
