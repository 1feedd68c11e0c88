"""Mistakes that no formula makes again, because chance had a part in them: how they look."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from handformer.checking.case import Step
from handformer.checking.compare import AnyArray
from handformer.checking.desk import Desk
from handformer.checking.hints.numbers import ratio
from handformer.checking.inside import Numbers
from handformer.formula import Formula, Sheet, evaluate
from handformer.formula.expression import Entry, Node, Number, rewrite
from handformer.formula.rounding import Rounded

CLOSE = 1e-5  # of an entry: a factor is only known so well
SCALED = 1.01  # what is kept is divided by 1 - rate
FEWEST = 8  # entries that have to be 0, and as many that aren't


def sights(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> tuple[str, ...]:
    """The rows of the catalogue that it looks like."""
    found = np.asarray(theirs, np.float64)
    if not np.isfinite(found).all() or theirs.shape != step.value.shape:
        return ()
    kept = any(_dropped(found, one, 1.0) for one in _undropped(desk, step, right))
    if kept or _dropped(found, right, SCALED):
        return (_row(step),)
    if ratio(found, right) is None and _another_matrix(desk, step, found):
        return ("UNEMB-1",)
    return ()


def _row(step: Step) -> str:
    if step.name.startswith("d_"):
        return "BA-7"
    return "DROP-2" if step.name in ("context", "scores") else "DROP-4"


def _undropped(desk: Desk, step: Step, right: Rounded) -> Iterator[Rounded]:
    """What a value would be if nothing had been dropped before."""
    if step.formula is None:
        return

    def whole(node: Node) -> Node:
        match node:
            case Entry(name="keep"):
                return Number(1)
            case Entry(name="attn_kept"):
                return replace(node, name="attn")
        return node

    body = rewrite(step.formula.body, whole)
    if body != step.formula.body:
        line = Formula.build(step.name, step.formula.axes, body)
        sheet = Sheet(
            tuple(line if one.name == step.name else one for one in desk.case.sheet(step))
        )
        scalars = desk.case.placed[step.scope].scalars
        value = evaluate(sheet, step.name, Numbers(desk, step), scalars)
        yield Rounded(value, right.error + 1e-6 * np.abs(value))


def _dropped(theirs: AnyArray, right: Rounded, least: float) -> bool:
    """Whether some entries are 0, at random, and all others right but for one factor.

    It is at least so large: what is kept is scaled up. Where whole rows are 0, along any axis,
    chance had no part in it.
    """
    value = np.asarray(right.value, np.float64)
    gone = (theirs == 0) & (value != 0)
    kept = (theirs != 0) & (value != 0)
    if min(int(gone.sum()), int(kept.sum())) < FEWEST:
        return False
    mixed = [(gone.any(axis) & kept.any(axis)).any() for axis, n in enumerate(gone.shape) if n > 1]
    if not all(mixed):
        return False
    factor = float((theirs[kept] * value[kept]).sum() / (value[kept] ** 2).sum())
    apart = np.abs(theirs - factor * value)
    allowed = (1 + factor) * (right.error + CLOSE * np.abs(value))
    return factor >= least - CLOSE and bool((apart <= allowed)[~gone].all())


def _another_matrix(desk: Desk, step: Step, theirs: AnyArray) -> bool:
    """Whether logits are their x times a matrix, whichever, that isn't the head's."""
    is_head = step.scope == "head" and step.name == "out"
    # What follows from the weights alone can't tell: any x serves for some matrix.
    if not is_head or desk.case.find("head", "x") not in desk.theirs:
        return False
    x = np.asarray(Numbers(desk, step)["x"], np.float64)
    rows, logits = x.reshape(-1, x.shape[-1]), theirs.reshape(-1, theirs.shape[-1])
    if len(rows) <= rows.shape[1] + 2:
        return False
    fitted, *_ = np.linalg.lstsq(rows, logits, rcond=None)
    return bool(np.allclose(rows @ fitted, logits, rtol=0, atol=1e-4 * np.abs(logits).max()))
