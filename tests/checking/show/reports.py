"""Reports that are put together by hand, on the values of a real trace."""

from dataclasses import replace
from functools import cache

import numpy as np

from handformer.axes import Array
from handformer.checking.report import Cause, Difference, Report, Status, Verdict
from tests.tracing.small import traced

SCALE = Cause(
    "SCALE-1",
    "You divided by sqrt(d_model) (3.464), not by sqrt(d_k) (2)",
    "Divide by sqrt(d_k), the square root of the width of a head",
    "blocks.0.attention.scores",
    "scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(d_model)",
    "https://example.org/mistakes#scale-1",
    "scores[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h,s,c]) / sqrt(d_k)",
)
SCORES, OTHERS = "blocks.0.attention.scores", "blocks.1.attention.scores"
HOSTILE = "</script>\x1b[2J<b>\udc80\u202e]]>&\"'"


def verdicts(status: Status = Status.RIGHT) -> dict[str, Verdict]:
    """One of every computed value of a small model, all of them alike."""
    computed = {"value", "gradient", "weight_gradient"}
    values = (v for v in traced("gpt2").manifest.values if v.kind in computed)
    return {v.path: Verdict(v.path, status, v.path, v.axes, v.shape) for v in values}


def compared(theirs: Array, right: Array) -> Difference:
    """The farthest entry of two arrays, where rounding explains 8e-6."""
    place = np.unravel_index(int(np.argmax(np.abs(theirs - right))), right.shape)
    off = np.abs(theirs - right)
    return Difference(
        float(theirs[place]), float(right[place]), float(off[place]), 8e-6,
        tuple(map(int, place)), int((off > 8e-6).sum()), off.size,
    )  # fmt: skip


def fine() -> Report:
    """All is right; one value is off by less than rounding explains."""
    all_of_them = verdicts()
    near = "blocks.1.mlp.out"
    off = Difference(0.5, 0.5000031, 3.1e-6, 8e-6, (0, 1, 2), 0, 120)
    all_of_them[near] = replace(all_of_them[near], local=off, against=off)
    return Report("small", "dump.npz", tuple(all_of_them.values()), seconds=0.41)


@cache
def scaled(blocks: int = 1) -> Report:
    """Scores divided by the root of another width, in one block or in both."""
    trace, all_of_them = traced("gpt2"), verdicts()
    wrong = (SCORES, OTHERS)[:blocks]
    paths = list(all_of_them)
    for path in paths[paths.index(SCORES) :]:
        all_of_them[path] = replace(all_of_them[path], status=Status.INHERITED, since=wrong[:1])
    theirs, right = {}, {}
    for path in wrong:
        right[path] = trace[path]
        theirs[path] = trace[path] / np.sqrt(3)
        off = compared(theirs[path], right[path])
        scope = path.rpartition(".")[0]
        all_of_them[path] = replace(
            all_of_them[path], status=Status.WRONG, since=(), local=off, against=off,
            causes=(replace(SCALE, at=path),),
            reads=(f"{scope}.q", f"{scope}.k"),
        )  # fmt: skip
    for path in ("blocks.0.mlp.post", "positions"):
        all_of_them[path] = replace(all_of_them[path], status=Status.MISSING)
    return Report(
        "small", "dump.npz", tuple(all_of_them.values()), seconds=0.41, theirs=theirs, right=right
    )


def with_verdict(report: Report, path: str, **changes: object) -> Report:
    """The same, with something else said of one value."""
    changed = (replace(v, **changes) if v.path == path else v for v in report.verdicts)  # type: ignore[arg-type]
    return replace(report, verdicts=tuple(changed))


def nothing() -> Report:
    """A dump in which nothing was found."""
    return Report("small", "dump.npz", tuple(verdicts(Status.MISSING).values()))
