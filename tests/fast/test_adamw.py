"""The update in place: the optimizer's own numbers, on any number of threads."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer.axes import Array
from handformer.fast.adamw import BLOCK, Rates, add_up, update
from handformer.fast.workers import Workers
from handformer.train.optimizer import AdamW

SHAPES = ((3, 4), (5,), (BLOCK // 8 + 1, 17), (1,), (0, 3), (2, 3, 2))


def some(seed: int, dtype: Any) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in SHAPES]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 0.37])
def test_it_is_the_optimizer_s_update(dtype: Any, scale: float) -> None:
    optimizer = AdamW(0.8, 0.95, 1e-6, 0.2)
    weights, names = some(0, dtype), [str(number) for number in range(len(SHAPES))]
    params = dict(zip(names, [w.copy() for w in weights], strict=True))
    state = optimizer.init(params)
    m, v = ([np.zeros_like(w) for w in weights] for _ in range(2))
    for step in range(1, 4):
        grads = some(step, dtype)
        clipped = {name: g * scale for name, g in zip(names, grads, strict=True)}
        params, state = optimizer.update(params, clipped, state, 0.01)
        rates = Rates(0.01, 0.8, 0.95, 1e-6, 0.2, step, scale)
        with Workers(1) as workers:
            assert update(weights, grads, (m, v), rates, workers)
    few = 20 * np.finfo(dtype).eps
    for name, w, first, second in zip(names, weights, m, v, strict=True):
        assert w.dtype == dtype
        assert_allclose(w, params[name], rtol=0, atol=few)
        assert_allclose(first, state.moments["m"][name], rtol=few, atol=few)
        assert_allclose(second, state.moments["v"][name], rtol=few, atol=few)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_parts_are_added_in_order_and_the_squares_are_those_of_the_sums(parts: int) -> None:
    given = [some(seed, np.float32) for seed in range(parts)]
    right = [array.copy() for array in given[0]]
    for part in given[1:]:
        right = [total + array for total, array in zip(right, part, strict=True)]
    with Workers(1) as workers:
        squares = add_up(given, workers)
    for total, array in zip(given[0], right, strict=True):
        assert total.tobytes() == array.tobytes()
    wide = [np.square(array, dtype=np.float64).sum() for array in right]
    assert_allclose(squares, wide, rtol=1e-14)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_change_no_bit(threads: int) -> None:
    def done(count: int) -> list[bytes | float]:
        weights, m, v = some(0, np.float32), some(1, np.float32), some(2, np.float32)
        v = [np.abs(array) for array in v]
        grads = [some(3, np.float32), some(4, np.float32)]
        with Workers(count) as workers:
            squares = add_up(grads, workers)
            update(weights, grads[0], (m, v), Rates(0.1, 0.9, 0.95, 1e-8, 0.1, 2, 0.5), workers)
        return [*squares, *(array.tobytes() for array in (*weights, *m, *v))]

    assert done(threads) == done(1)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e20])
def test_a_number_that_is_not_finite_is_noticed(value: float) -> None:
    weights, grads = some(0, np.float32), some(1, np.float32)
    m, v = ([np.zeros_like(w) for w in weights] for _ in range(2))
    grads[2][100, 3] = value
    with Workers(2) as workers:
        squares = add_up([grads], workers)
        assert np.isfinite(squares).sum() == len(SHAPES) - (not np.isfinite(value))
        assert not update(weights, grads, (m, v), Rates(0.1, 0.9, 0.9, 1e-8, 0, 1, 1.0), workers)
