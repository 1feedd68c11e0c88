"""Sampling: the case is right, and each mistake is named where it is made."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.checking.cases.sampling import sampling_case
from handformer.checking.mistakes.sampling import SAMPLING
from handformer.generate.sampling import Sampling, draw
from handformer.tracing.trace import Trace
from tests.checking.held import held, named
from tests.checking.theirs import sampling as theirs

# Of probabilities, up to 1: exp is good to 4 roundings, the sum of 4 and the quotient take 4 more.
ROUNDED = 8 * 2.0**-53


@cache
def case() -> Trace:
    return sampling_case()


def dump(wrong: str = "") -> dict[str, Any]:
    trace = case()
    given = {v.path: trace[v.path] for v in trace.manifest.values if v.kind == "input"}
    numbers = {scope.path: dict(scope.scalars) for scope in trace.manifest.scopes}
    found: dict[str, Any] = theirs.run(given, numbers, wrong)
    return found


def test_somebody_else_computes_the_same() -> None:
    trace, found = case(), dump()
    assert {v.path for v in trace.manifest.values if v.kind == "value"} == found.keys()
    for path, array in found.items():
        assert_allclose(array, trace[path], rtol=0, atol=ROUNDED, err_msg=path)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("greedy", Sampling(temperature=0)),
        ("top_k", Sampling(top_k=2)),
        ("top_k_equals", Sampling(top_k=2)),
        ("top_p", Sampling(top_p=0.9)),
        ("top_p_equals", Sampling(top_p=0.5)),
        ("top_p_whole", Sampling(top_p=1)),
        ("min_p", Sampling(min_p=0.15)),
        ("temperature_top_p", Sampling(temperature=0.5, top_p=0.8)),
        ("top_k_top_p", Sampling(top_k=2, top_p=0.55)),
    ],
)
def test_the_case_is_what_our_own_sampling_does(name: str, how: Sampling) -> None:
    logits = case()[f"{name}.logits"]
    probs = how.probabilities(logits, np.zeros(logits.shape, dtype=bool))
    assert_allclose(case()[f"{name}.left_probs"], probs, rtol=0, atol=ROUNDED)
    assert_array_equal(case()[f"{name}.kept"], probs > 0)


def test_the_penalty_and_the_draw_are_ours_too() -> None:
    trace = case()
    how = Sampling(repetition_penalty=1.5)
    stage, penalised = next(iter(how.stages(trace["penalty.logits"], trace["penalty.seen"])))
    assert stage == "repetition_penalty"
    assert_array_equal(trace["penalty.penalised"], penalised)
    assert_array_equal(trace["draw.token"], draw(trace["draw.probs"], trace["draw.chance"]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_what_is_right_is_found_right(dtype: Any) -> None:
    report = held(case(), dump(), dtype)
    assert report.fine, named(report)


@pytest.mark.parametrize("row", theirs.ROWS)
def test_a_mistake_is_named_where_it_is_made(row: str) -> None:
    first, others = theirs.ROWS[row]
    found = named(held(case(), dump(row)))
    allowed = {row.partition(":")[0], *others}
    assert next(iter(found)) == first
    assert all(found.values()), found
    assert {name for names in found.values() for name in names} <= allowed, found


# Not SAMP-2: where a sum is p exactly, the roundings of what wasn't written decide.
@pytest.mark.parametrize(
    "row", ["SAMP-1", "SAMP-3", "SAMP-4", "SAMP-5:greedy", "SAMP-7", "SAMP-9:twice"]
)
def test_the_last_probabilities_alone_name_it(row: str) -> None:
    left = {p: a for p, a in dump(row).items() if p.endswith(("left_probs", "temperature.probs"))}
    first = held(case(), left).first
    assert first is not None
    assert row.partition(":")[0] in [cause.id for cause in first.causes]


def test_the_numbers_of_the_catalogue_are_there() -> None:
    trace = case()
    # Their logarithms are given as float32 has them: up to 3, off by 2**-23; and so their sum.
    assert_allclose(trace["top_p.probs"][0], [0.5, 0.35, 0.1, 0.05], rtol=2 * 2.0**-23)
    assert trace["top_p.kept"][0].tolist() == [True, True, True, False]
    assert dump("SAMP-1")["top_p.kept"][0].tolist() == [True, True, False, False]
    assert trace["penalty.penalised"][0, :2].tolist() == [2 / 1.5, -1.5]


def test_every_row_is_there() -> None:
    rows = {f"SAMP-{number}" for number in range(1, 16)}
    assert {row.partition(":")[0] for row in theirs.ROWS} | theirs.CANNOT.keys() == rows
    assert {mistake.id for mistake in SAMPLING} == rows
