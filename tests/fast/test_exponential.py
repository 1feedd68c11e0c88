"""The exponential: exact to the last places, at every end of its range, and what isn't a number."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.axes import Array
from handformer.fast.compiled import compiled
from handformer.fast.exponential import exp


@compiled
def each(x: Array, y: Array) -> None:
    for at in range(x.size):
        y[at] = exp(x[at])


def found(x: Array) -> Array:
    y = np.empty_like(x)
    each(x, y)
    return y


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1.2e-7), (np.float64, 3e-16)])
def test_it_is_exact_to_the_last_places(dtype: Any, limit: float) -> None:
    rng = np.random.default_rng(0)
    for width in (1e-3, 1.0, 20.0, 87.0 if dtype == np.float32 else 700.0):
        x = rng.uniform(-width, width, 100_003).astype(dtype)
        right = np.exp(x.astype(np.longdouble))
        assert np.max(np.abs(found(x) - right) / right) < limit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ends(dtype: Any) -> None:
    ends = [0, -0.0, -np.inf, np.inf, -1e30, 1e30, np.nan]
    x = np.array(ends * 3, dtype=dtype)  # long enough for vectors, and a rest
    assert_array_equal(found(x), np.array([1, 1, 0, np.inf, 0, np.inf, np.nan] * 3, dtype=dtype))


def test_the_smallest_and_the_largest_results() -> None:
    x = np.array([-87.5, -95, -103, -104.5, 88.7, 88.8], dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        right = np.exp(x)
    assert np.all(np.abs(found(x)[:4] - right[:4]) <= np.float32(1e-45) + right[:4] * 1e-6)
    assert found(x)[4] == pytest.approx(right[4], rel=1e-6)
    assert found(x)[5] == np.inf
    wide = np.array([-745.0, -746.0, 709.7, 709.8])
    assert_array_equal(found(wide)[[0, 1, 3]], [5e-324, 0, np.inf])
    assert found(wide)[2] == pytest.approx(np.exp(709.7), rel=1e-14)
