"""Clipping: one norm, only ever down, and nothing made of what isn't finite."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from handformer.axes import Array
from handformer.train.clipping import clip, global_norm

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
