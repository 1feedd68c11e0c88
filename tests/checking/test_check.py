"""What is said of dumps: right ones, wrong ones, and those that can't be compared."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from handformer.checking.api import check
from handformer.checking.case import Case
from handformer.checking.checker import Checker
from handformer.checking.mistakes import Edit, Mistake
from handformer.checking.report import Report, Status, Verdict
from handformer.checking.theirs import Theirs
from tests.tracing.small import FAMILIES, traced

Dump = dict[str, NDArray[Any]]
CASE = traced("gpt2")
SCORES, ATTN, OUT = (f"blocks.0.attention.{name}" for name in ("scores", "attn", "out"))


def dump(family: str = "gpt2", dtype: Any = np.float32) -> Dump:
    """Everything that a correct program could write, as it would come out of another one."""
    case = traced(family)
    kinds = {v.path: v.kind for v in case.manifest.values}
    return {
        path: case[path].astype(dtype if case[path].dtype.kind == "f" else case[path].dtype)
        for path in case
        if kinds[path] != "lens"
    }


def of(report: Report, path: str) -> Verdict:
    return next(one for one in report.verdicts if one.path == path)


def statuses(report: Report) -> set[Status]:
    return {one.status for one in report.verdicts if one.status is not Status.MISSING}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_right_is_right(family: str) -> None:
    report = check(dump(family), traced(family))
    assert report.fine
    assert statuses(report) == {Status.RIGHT}
    assert report.compared == len(dump(family))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_in_other_types(family: str, dtype: Any) -> None:
    assert statuses(check(dump(family, dtype), traced(family))) == {Status.RIGHT}


@pytest.mark.parametrize("every", [2, 3, 7, 40])
def test_what_is_missing_is_worked_out(every: int) -> None:
    some = {path: a for n, (path, a) in enumerate(dump().items()) if n % every == 1}
    report = check(some, CASE)
    assert report.fine
    assert report.compared == len(some)
    off = max(v.local.off / v.local.allowed for v in report.verdicts if v.local and v.local.allowed)
    assert 0 < off <= 1
    some[[*some][-1]] *= np.float32(1.001)
    assert not check(some, CASE).fine


def test_nothing_and_unknown_names_are_never_fine() -> None:
    report = check({"blocks.0.attention.score": CASE[SCORES]}, CASE)
    assert not report.fine
    assert report.compared == 0
    assert SCORES in report.unknown["blocks.0.attention.score"]
    assert not check({**dump(), "blocks.0.attention.score": CASE[SCORES]}, CASE).fine


def test_one_wrong_step_is_wrong_and_the_others_inherit() -> None:
    case, theirs = traced("gpt2"), dump()
    theirs[SCORES] = theirs[SCORES] * np.float32(0.5)
    theirs[ATTN] = softmax(theirs[SCORES], case["blocks.0.attention.mask"])
    theirs["blocks.0.attention.context"] = theirs[ATTN] @ theirs["blocks.0.attention.v"]
    later = ("blocks.0.attention.scores", "blocks.0.attention.attn", "blocks.0.attention.context")
    report = check(
        {path: theirs[path] for path in theirs if path in later or ".0.att" in path}, case
    )
    assert report.first is not None
    assert report.first.path == SCORES
    assert of(report, ATTN).status is Status.INHERITED
    assert of(report, ATTN).since == (SCORES,)
    assert of(report, "blocks.0.attention.q").status is Status.RIGHT
    local = of(report, SCORES).local
    assert local is not None
    assert local.theirs == pytest.approx(local.right / 2, rel=1e-5)
    assert (local.count, local.of) == (theirs[SCORES].size, theirs[SCORES].size)


def softmax(scores: NDArray[Any], mask: NDArray[Any]) -> NDArray[Any]:
    shifted = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    return shifted / shifted.sum(-1, keepdims=True)


def test_two_mistakes_are_both_found() -> None:
    theirs = dump()
    theirs["blocks.0.mlp.pre"] = theirs["blocks.0.mlp.pre"] + np.float32(0.5)
    theirs["norm.out"] = theirs["norm.out"] * np.float32(1.5)
    after = {"blocks.0.mlp.post": np.tanh(theirs["blocks.0.mlp.pre"])}
    report = check({**theirs, **after}, CASE)
    assert {"blocks.0.mlp.pre", "norm.out"} <= {one.path for one in report.bad}


def test_a_mistake_is_named_even_where_the_step_was_not_written() -> None:
    double = Mistake("TWICE", "doubled by {d_model}", "don't", (Edit("scores", "d_k -> d_model"),))
    case, theirs = Case(CASE), dump()
    mask = CASE["blocks.0.attention.mask"]
    wrong = theirs[SCORES] * np.float32((4 / 12) ** 0.5)
    theirs[ATTN] = softmax(wrong, mask)
    del theirs[SCORES]
    theirs["blocks.0.attention.context"] = theirs[ATTN] @ theirs["blocks.0.attention.v"]
    found = {p: Theirs(p, p, a, 2.0**-24 * (a.dtype.kind == "f")) for p, a in theirs.items()}
    (bad,) = [v for v in Checker(case, found, None, [double]).verdicts() if v.causes]
    assert bad.path == ATTN
    assert [(one.id, one.at, one.wrong) for one in bad.causes] == [
        ("TWICE", SCORES, "doubled by d_model (12)")
    ]


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        (SCORES, lambda a: a[:1], "its shape is (1, 3, 5, 5)"),
        (SCORES, lambda a: a[..., :1], "its shape is (2, 3, 5, 1)"),
        (SCORES, lambda a: (a * 100).astype(np.int32), "whole numbers"),
        ("tokens", lambda a: a + 0.5, "fractions"),
        ("blocks.0.attention.mask", lambda a: a * 3, "other numbers than 0 and 1"),
    ],
)
def test_what_cannot_be_compared(path: str, change: Any, said: str) -> None:
    theirs = dump()
    theirs[path] = change(theirs[path])
    report = check(theirs, CASE)
    assert [one.path for one in report.bad] == [path]
    assert report.bad[0].status is Status.UNREADABLE
    assert said in report.bad[0].hints[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.transpose(0, 2, 1, 3),
        lambda a: a.transpose(0, 2, 1, 3).reshape(2, 5, 12),
        lambda a: a.reshape(6, 5, 4),
        lambda a: np.ascontiguousarray(a.T),
        lambda a: a.transpose(0, 1, 3, 2).reshape(a.shape),
        lambda a: a.ravel(order="F").reshape(a.shape),
    ],
)
def test_another_layout_is_told_and_no_mistake(change: Any) -> None:
    theirs = dump()
    path = "blocks.1.attention.q"
    theirs[path] = change(theirs[path])
    report = check(theirs, CASE)
    assert [(one.path, one.status) for one in report.bad] == [(path, Status.LAYOUT)]
    assert "expected b x h x t x c" in report.bad[0].hints[0] or "says" in report.bad[0].hints[0]


@pytest.mark.parametrize("fill", [-np.inf, -1e9, -65504.0, 0.0, -1e-9, np.nan])
def test_scores_may_be_masked_already(fill: float) -> None:
    theirs = dump()
    mask = CASE["blocks.0.attention.mask"]
    theirs[SCORES] = np.where(mask, theirs[SCORES], np.float32(fill))
    report = check(theirs, CASE)
    assert report.fine
    assert "masked already" in of(report, SCORES).note
    theirs[SCORES] = np.where(mask, theirs[SCORES] * np.float32(1.01), np.float32(fill))
    assert not check(theirs, CASE).fine


def test_what_is_not_a_number_is_told_once() -> None:
    theirs = dump()
    theirs[ATTN] = theirs[ATTN].copy()
    theirs[ATTN][0, 0, 0] = np.nan
    theirs["blocks.0.attention.context"] = theirs[ATTN] @ theirs["blocks.0.attention.v"]
    report = check(theirs, CASE)
    assert [one.path for one in report.bad] == [ATTN]
    assert "5 of 150 numbers are NaN" in report.bad[0].hints
    assert of(report, "blocks.0.attention.context").status is Status.INHERITED


def test_something_else_written_under_a_name() -> None:
    theirs = dump()
    theirs[SCORES] = theirs[ATTN]
    report = check(theirs, CASE)
    (bad,) = report.bad
    assert (bad.path, bad.status) == (SCORES, Status.LAYOUT)
    assert [one.id for one in bad.causes] == ["DUMP-4"]
    theirs[SCORES] = np.cos(CASE[SCORES]).astype(np.float32)
    (bad,) = check(theirs, CASE).bad
    assert (bad.path, bad.status) == (SCORES, Status.LAYOUT)
    assert any("something else was written" in hint for hint in bad.hints)


def test_a_copy_that_is_none() -> None:
    theirs = dump()
    theirs["blocks.0.attention.x"] = theirs["embedding.out"]
    for name, weight in (("q", "w_q"), ("k", "w_k"), ("v", "w_v")):
        bias = CASE[f"blocks.0.attention.b_{name}"]
        made = theirs["embedding.out"] @ CASE[f"blocks.0.attention.{weight}"] + bias
        split = made.reshape(2, 5, 3, 4).transpose(0, 2, 1, 3)
        theirs[f"blocks.0.attention.{name}"] = np.ascontiguousarray(split, dtype=np.float32)
    report = check({p: a for p, a in theirs.items() if p.startswith(("emb", "blocks.0"))}, CASE)
    bad = report.bad[0]
    assert (bad.path, bad.status) == ("blocks.0.attention.x", Status.WRONG)
    assert "it should be what blocks.0.norm_1.out is" in bad.hints
    assert "it holds the numbers of embedding.out" in bad.hints
    assert of(report, "blocks.0.attention.q").status is Status.INHERITED
