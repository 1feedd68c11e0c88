"""Mistakes that no formula makes again, because chance had a part in them: how they look."""

import numpy as np

from handformer.checking.case import Step
from handformer.checking.compare import AnyArray
from handformer.checking.desk import Desk
from handformer.checking.inside import Numbers
from handformer.formula.rounding import Rounded

FEWEST = 8  # entries that have to be 0, and as many that aren't


def sights(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> tuple[str, ...]:
    """The rows of the catalogue that it looks like."""
    found = np.asarray(theirs, np.float64)
    if not np.isfinite(found).all() or theirs.shape != step.value.shape:
        return ()
    if _dropped(found, right):
        return (_row(step),)
    return ("UNEMB-1",) if _another_matrix(desk, step, found) else ()


def _row(step: Step) -> str:
    if step.name.startswith("d_"):
        return "BA-7"
    return "DROP-2" if step.name in ("context", "scores") else "DROP-4"


def _dropped(theirs: AnyArray, right: Rounded) -> bool:
    """Whether some entries are 0, at random, and all others right but for one factor."""
    value = np.asarray(right.value, np.float64)
    gone = (theirs == 0) & (value != 0)
    kept = (theirs != 0) & (value != 0)
    if min(int(gone.sum()), int(kept.sum())) < FEWEST:
        return False
    factor = float((theirs[kept] * value[kept]).sum() / (value[kept] ** 2).sum())
    apart = np.abs(theirs - factor * value)
    return factor > 1 and bool((apart <= (1 + factor) * right.error)[~gone].all())


def _another_matrix(desk: Desk, step: Step, theirs: AnyArray) -> bool:
    """Whether logits are their x times a matrix, whichever, that isn't the head's."""
    if step.scope != "head" or step.name != "out":
        return False
    x = np.asarray(Numbers(desk, step)["x"], np.float64)
    rows, logits = x.reshape(-1, x.shape[-1]), theirs.reshape(-1, theirs.shape[-1])
    if len(rows) <= rows.shape[1] + 2:
        return False
    fitted, *_ = np.linalg.lstsq(rows, logits, rcond=None)
    return bool(np.allclose(rows @ fitted, logits, rtol=0, atol=1e-4 * np.abs(logits).max()))
