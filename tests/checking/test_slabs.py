"""A large value is held a slab at a time, side by side: the answer is that of all at once."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from handformer.checking import checker, desk, slabs
from handformer.checking.api import check
from handformer.checking.case import Case
from handformer.checking.cases import build
from handformer.checking.desk import Desk
from handformer.checking.reference import FAR, Reference
from handformer.checking.report import Report
from handformer.tracing.trace import Trace

SCORES = "blocks.0.attention.scores"


@cache
def case() -> Trace:
    return build("gpt2-tiny")


def dump(**wrong: float) -> dict[str, NDArray[Any]]:
    """A dump, some values of it times a number."""
    whole = {v.path: case()[v.path] for v in case().manifest.values}
    found = {p: a.astype(np.float32) if a.dtype.kind == "f" else a for p, a in whole.items()}
    return found | {path: found[path] * np.float32(factor) for path, factor in wrong.items()}


def told(report: Report) -> list[Any]:
    return [replace(one, called="") for one in report.verdicts]


@pytest.mark.parametrize("slab", [1, 7, 50])
@pytest.mark.parametrize("wrong", [{}, {SCORES: 2.0}, {"blocks.1.mlp.d_w_up": 1.01}])
def test_in_slabs_the_same_is_found(
    monkeypatch: pytest.MonkeyPatch, slab: int, wrong: dict[str, float]
) -> None:
    at_once = told(check(dump(**wrong), case()))
    monkeypatch.setattr(slabs, "SLAB", slab)
    monkeypatch.setattr(desk, "SMALL", slab)
    monkeypatch.setattr(checker, "cores", lambda: 50)  # more than some values have rows
    in_slabs = told(check(dump(**wrong), case()))
    for one, other in zip(at_once, in_slabs, strict=True):
        assert one.path == other.path
        assert one.status == other.status
        assert one.causes == other.causes
        assert one.hints == other.hints
        if one.local is not None:
            assert other.local is not None
            assert (one.local.count, one.local.of) == (other.local.count, other.local.of)
            if one.local.count:
                assert (one.local.off, one.local.place) == (other.local.off, other.local.place)


def test_a_product_of_few_rows_is_cut_along_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slab of rows would read all of the matrix again."""
    monkeypatch.setattr(slabs, "SLAB", 4)
    found = Desk(Case(case()), {}, 2.0**-24)
    step = found.case["head.out"]
    found.value_at("head.out", None)  # what it reads is worked out
    assert step.value.axes[slabs.Slabs(found, step, 1).axis] == step.value.axes[-1]


def test_what_is_far_off_is_seen_without_working_out_all_roundings() -> None:
    reference = Reference(Case(case()), 2.0**-24, {})
    right = case()[SCORES].astype(np.float32)
    largest = float(np.abs(right).max())
    assert reference.far(SCORES, right, 0.0) is None
    near = right + np.float32(0.5 * FAR * 2.0**-24 * largest)
    assert reference.far(SCORES, near, 0.0) is None
    wrong = right.copy()
    wrong[0, 1, 2, 0] += 1
    found = reference.far(SCORES, wrong, 0.0)
    assert found is not None
    assert found.difference.place == (0, 1, 2, 0)
    assert found.difference.off == pytest.approx(1, rel=1e-5)
    assert reference.far(SCORES, wrong, 1.0) is None  # the last step alone may explain it
