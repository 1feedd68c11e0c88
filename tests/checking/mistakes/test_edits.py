"""Every edit changes a value of some ready-made case, and the check names it for that value."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from handformer.checking import cases
from handformer.checking.case import Case, Step
from handformer.checking.desk import Desk
from handformer.checking.diagnose import Trial, causes, trials
from handformer.checking.mistakes import CATALOGUE, HARMLESS, Edit, Mistake, Shows
from handformer.checking.theirs import Theirs
from handformer.formula import FormulaError
from tests.checking.mistakes.look_alike import allowed

SMALL = (
    "gpt2-tiny", "llama-tiny", "bert-tiny", "encoder-decoder-tiny", "gpt2-padded", "llama-padded",
    "single-head", "gpt2-dropout", "attention", "rotary-interleaved", "alibi-attention",
    "window-attention", "chunk-attention", "cross-attention", "grouped-attention",
    "flash-attention", "mlp-gelu", "mlp-relu", "geglu", "swiglu", "layer-norm", "rms-norm",
    "smoothed-loss", "softmax", "embedding", "llama-stress", "gpt2-stress", "rotary-attention",
)  # fmt: skip
OTHERS = (Shows.STEPS, Shows.SCHEDULE, Shows.GENERATION, Shows.SAMPLING, Shows.NOWHERE)
OURS = [one for one in (*CATALOGUE, *HARMLESS) if one.shows not in OTHERS and one.edits]
# What no ready-made case shows, and why.
UNSEEN = {
    "SCORE-2": "it takes as many heads as keys and channels: the cases' sizes all differ",
    "LOSS-8": "it takes logits that are 100 apart",
    "SAME-ROW-TERM": "both formulas give the same numbers",
}
CLEARLY = 1e-9
TINY = {name: float(np.finfo(name).smallest_subnormal) / 2 for name in ("float32", "float64")}


@cache
def case(name: str) -> Case:
    return Case(cases.build(name))


@cache
def desk(name: str, dtype: str) -> Desk:
    """A right dump of the case in a type, all of it."""
    unit = float(np.finfo(dtype).eps) / 2
    given = {}
    for step in case(name):
        array = case(name).trace[step.path]
        of = unit if array.dtype.kind == "f" else 0.0
        array = array.astype(dtype) if of else array
        given[step.path] = Theirs(step.path, step.path, array, of, TINY[dtype])
    return Desk(case(name), given, unit)


def forms() -> Iterator[Any]:
    """The first edit of every row, and every third of its others, which are of one kind mostly."""
    for mistake in OURS:
        for number, edit in list(enumerate(mistake.edits))[::3]:
            marks = [pytest.mark.slow] if number else []
            yield pytest.param(mistake, edit, id=f"{mistake.id}-{number}", marks=marks)


def changes(mistake: Mistake, edit: Edit | tuple[Edit, ...]) -> Iterator[tuple[str, Step, Any]]:
    """Where an edit changes something, and what it makes of the value there."""
    alone = Mistake(mistake.id, mistake.wrong, mistake.cure, (edit,), mistake.shows)
    for name in SMALL:
        for step in case(name):
            for trial in trials(case(name), [step], [alone]):
                made = evaluated(name, step, trial)
                right = case(name).trace[step.path]
                if made is not None and apart(made, right):
                    yield name, step, made


def evaluated(name: str, step: Step, trial: Trial) -> Any:
    edited = Desk(
        case(name), desk(name, "float64").theirs, 2.0**-53, edited=trial.sheets
    )  # fmt: skip
    try:
        return edited.right_at(step.path, None).value
    except (FormulaError, KeyError, ValueError, IndexError):
        return None


def apart(made: Any, right: Any) -> bool:
    if made.shape != right.shape:
        return True
    made, right = np.asarray(made, np.float64), np.asarray(right, np.float64)
    same = (made == right) | (np.isnan(made) & np.isnan(right))
    with np.errstate(all="ignore"):
        off = np.where(same, 0.0, np.abs(made - right))
    return bool(np.any(~(off <= CLEARLY * max(1e-3, float(np.nanmax(np.abs(right)))))))


@pytest.mark.parametrize(("mistake", "edit"), list(forms()))
def test_an_edit_shows_in_a_case_and_is_named(
    mistake: Mistake, edit: Edit | tuple[Edit, ...]
) -> None:
    found = next(changes(mistake, edit), None)
    if found is None and (mistake.id in UNSEEN or edit != mistake.edits[0]):
        pytest.skip(UNSEEN.get(mistake.id, "no ready-made case has a layer with this form"))
    assert found is not None
    name, step, made = found
    if made.shape != case(name).trace[step.path].shape:
        return  # another shape is told by the shape
    theirs = made.astype(np.float32) if made.dtype.kind == "f" else made
    at = desk(name, "float32")
    kept = at.theirs[step.path]
    at.theirs[step.path] = Theirs(step.path, step.path, theirs, kept.unit, kept.quantum)
    at._right.clear()
    try:
        catalogue = HARMLESS if mistake in HARMLESS else CATALOGUE
        ids = {one.id for one in causes(at, step, theirs, catalogue)}
    finally:
        at.theirs[step.path] = kept
    assert allowed(mistake.id, ids), ids
