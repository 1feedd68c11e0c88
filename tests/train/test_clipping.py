"""Clipping: one norm, only ever down, and nothing made of what isn't finite."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from handformer.axes import Array
from handformer.formula import evaluate
from handformer.formula.mutate import mutations
from handformer.formula.sheet import Sheet
from handformer.train.clipping import FORMULAS, clip, factor, global_norm

GRADS: dict[str, Array] = {"a": np.array([3.0, 0.0]), "b": np.array([0.0, 4.0])}


@pytest.mark.smoke
def test_by_hand() -> None:
    clipped, norm = clip(GRADS, 1.0)
    assert norm == 5.0
    assert_allclose(clipped["a"], [0.6, 0.0], rtol=1e-15)
    assert_allclose(clipped["b"], [0.0, 0.8], rtol=1e-15)


@given(
    st.lists(
        st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=4), max_size=3
    ),
    st.floats(1e-3, 1e3),
)
def test_the_direction_stays_and_the_norm_ends_within_the_limit(
    rows: list[list[float]], limit: float
) -> None:
    grads: dict[str, Array] = {str(n): np.array(r, dtype=np.float32) for n, r in enumerate(rows)}
    for array in grads.values():
        array.flags.writeable = False
    clipped, norm = clip(grads, limit)
    assert_allclose(norm, math.hypot(*(x for row in rows for x in row)), rtol=1e-12, atol=1e-150)
    factor = min(1.0, limit / norm) if norm else 1.0
    for name, array in grads.items():
        assert clipped[name].dtype == np.float32
        assert_allclose(clipped[name], array * factor, rtol=1e-6, atol=1e-37)
    assert global_norm(clipped) <= max(min(norm, limit), 0) * (1 + 1e-6) + 1e-37


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_comes_back_as_it_is(bad: float) -> None:
    grads = {**GRADS, "c": np.array([bad])}
    clipped, norm = clip(grads, 1.0)
    assert not math.isfinite(norm)
    assert math.isnan(norm) == math.isnan(bad)
    assert all(clipped[path] is array for path, array in grads.items())


def test_squares_that_overflow_make_an_infinite_norm_without_a_warning() -> None:
    assert clip({"a": np.array([1e200])}, 1.0)[1] == math.inf


def wrong_values(sheet: Sheet, entry: float, limit: float) -> set[str]:
    """The values of the code that aren't what these formulas say, for a matrix and a vector."""
    matrix: Array = np.array([[entry, -3.0], [1.0, 2.0]])
    grads: dict[str, Array] = {"w": matrix, "g": np.array([0.5, -2.0])}
    clipped, norm = clip(grads, limit)
    scalars = {"limit": limit, "norm": norm, "factor": factor(norm, limit)}
    scalars["total"] = norm**2
    wrong = set()

    def hold(sheet: Sheet, name: str, right: Any, arrays: dict[str, Array]) -> None:
        given = {one: number for one, number in scalars.items() if one != name}
        found = evaluate(sheet, name, arrays, given)
        if not np.allclose(found, right, rtol=1e-14, atol=0, equal_nan=True):
            wrong.add(name)

    for path, one in (("w", sheet), ("g", sheet.rename(i=""))):
        arrays = {"d_w": grads[path]}
        hold(one, "square", np.sum(np.square(grads[path])), arrays)
        hold(one, "clipped", clipped[path], arrays | {"clipped": clipped[path]})
    hold(sheet, "norm", norm, {})
    hold(sheet, "factor", scalars["factor"], {})
    return wrong


@pytest.mark.parametrize("entry", [3.0, math.nan, math.inf])
@pytest.mark.parametrize("limit", [1.0, 100.0])
def test_code_equals_the_formulas(entry: float, limit: float) -> None:
    assert wrong_values(FORMULAS, entry, limit) == set()


# At norm == limit the factor is 1 on both sides.
SAME = {"limit <= norm, not limit < norm"}


def test_every_mistake_in_a_formula_is_seen_at_its_value() -> None:
    unseen, cases = set(), [(3.0, 1.0), (3.0, 100.0), (math.inf, 1.0)]
    for formula in FORMULAS:
        for mutation in mutations(formula):
            sheet = FORMULAS.replace(mutation.formula)
            wrong = set().union(*(wrong_values(sheet, *case) for case in cases))
            assert wrong <= {formula.name}
            if not wrong:
                unseen.add(mutation.what)
    assert unseen == SAME
