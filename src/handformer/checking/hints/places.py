"""Where the wrong entries are, if they are in one region: a triangle, a row, a head, tokens."""

from collections.abc import Iterator

import numpy as np

from handformer.axes import BoolArray, IntArray
from handformer.checking.case import Step
from handformer.checking.compare import AnyArray, excess
from handformer.checking.desk import Desk
from handformer.formula.rounding import Rounded

_SAID = {
    "b": ("row of the batch", "rows of the batch"), "t": ("position", "positions"),
    "s": ("key position", "key positions"), "h": ("head", "heads"),
    "g": ("key/value head", "key/value heads"), "n": ("token id", "token ids"),
}  # fmt: skip


def places(desk: Desk, step: Step, theirs: AnyArray, right: Rounded) -> Iterator[str]:
    """What is seen of the places of the wrong entries."""
    wrong: BoolArray = np.asarray(excess(theirs, right) > 1)
    odd = ~np.isfinite(theirs) & np.isfinite(np.asarray(right.value, np.float64))
    if odd.any():
        what = "NaN" if np.isnan(theirs[odd]).all() else "not finite"
        yield f"{int(odd.sum())} of {odd.size} numbers are {what}"
        wrong = odd
    if wrong.all():
        return
    yield from _triangles(step, wrong)
    axes = step.value.axes
    for axis, letter in enumerate(axes):
        others = tuple(a for a in range(wrong.ndim) if a != axis)
        along: BoolArray = np.asarray(wrong.any(axis=others))
        if along.all() or not wrong.any():
            continue
        where = np.flatnonzero(along)
        known = _known(desk, letter, along)
        name, names = _SAID.get(letter, (f"place {letter}", f"places {letter}"))
        if known:
            yield f"only {known} are wrong"
        elif where.size == 1:
            yield f"only {name} {where[0]} is wrong"
        elif where.size < along.size / 2 and where.size <= 6:
            listed = ", ".join(map(str, where))
            yield f"only the {names} {listed} are wrong"
        elif along.size - where.size == 1:
            yield f"{name} {np.flatnonzero(~along)[0]} is right, all others hold wrong numbers"
        elif _run(where):
            yield f"the {names} {where[0]} to {where[-1]} hold all that is wrong"


def _triangles(step: Step, wrong: BoolArray) -> Iterator[str]:
    axes = step.value.axes
    if wrong.ndim < 2 or not (axes[-2] in "ts" and axes[-1] in "sru" and axes[-2] != axes[-1]):
        return
    flat: BoolArray = np.asarray(wrong.reshape(-1, *wrong.shape[-2:]).any(axis=0))
    rows, columns = np.indices(flat.shape)
    regions = {
        "on the diagonal": rows == columns, "above the diagonal, in the future": columns > rows,
        "below the diagonal, in the past": columns < rows,
        "one place above the diagonal": columns == rows + 1,
    }  # fmt: skip
    for said, region in sorted(regions.items(), key=lambda pair: int(pair[1].sum())):
        if flat.any() and not flat[~region].any():
            yield f"only entries {said} are wrong"
            return


def _known(desk: Desk, letter: str, along: BoolArray) -> str:
    """Repeated tokens, or all that occur, if the places are just those."""
    case = desk.case
    tokens = case.trace.known("tokens")
    if letter == "n" and tokens is not None and case.trace["tokens"].max() < along.size:
        ids, counts = np.unique(case.trace["tokens"], return_counts=True)
        repeated = np.zeros(along.size, dtype=bool)
        repeated[ids[counts > 1]] = True
        if (along == repeated).all():
            return "the rows of tokens that occur more than once"
        used = np.zeros(along.size, dtype=bool)
        used[ids] = True
        if (along == used).all():
            return "the rows of tokens that occur"
    return ""


def _run(where: IntArray) -> bool:
    return bool((np.diff(where) == 1).all())
