"""Dropout: the scale, the mask's identity, and draws that can be made again alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from handformer.ops import dropout
from handformer.ops.drops import NO_DROPOUT, RandomDropout
from handformer.randomness import generator


def test_what_is_kept_is_divided_by_the_chance_of_being_kept() -> None:
    # 0.1, not 0.5: there rate and 1 - rate would be the same
    x, keep = np.array([9.0, 18.0, 27.0, -36.0]), np.array([True, False, True, True])
    assert_allclose(dropout.forward(x, keep, 0.1), [10, 0, 30, -40])
    assert_allclose(dropout.backward(x, keep, 0.1), [10, 0, 30, -40])


def test_at_rate_0_nothing_is_touched() -> None:
    x, keep = np.array([1.0, np.pi]), NO_DROPOUT.keep((2,), 0.0)
    assert dropout.forward(x, keep, 0.0) is x
    assert dropout.backward(x, keep, 0.0) is x


def test_what_is_dropped_leaves_no_trace() -> None:
    y = dropout.forward(np.array([np.inf, np.nan, 2.0]), np.array([False, False, True]), 0.5)
    assert_array_equal(y, [0, 0, 4])


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=3).map(tuple), st.floats(0, 0.9), st.integers(0, 99))
def test_backward_is_the_transpose_of_forward(
    shape: tuple[int, ...], rate: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, d_y = rng.normal(size=(2, *shape))
    keep = RandomDropout(seed, 3).keep(shape, rate)
    y, d_x = dropout.forward(x, keep, rate), dropout.backward(d_y, keep, rate)
    assert keep.shape == np.shape(y) == np.shape(d_x) == shape
    assert_allclose(np.sum(d_y * y), np.sum(d_x * x), rtol=1e-12, atol=1e-12)
    assert_array_equal(np.asarray(y)[~keep], 0)


def test_a_mask_drops_its_rate_and_keeps_the_mean() -> None:
    keep = RandomDropout(7, 0, "blocks.0").keep((300, 400), 0.1)
    spread = np.sqrt(0.1 * 0.9 / keep.size)
    assert abs(keep.mean() - 0.9) < 4 * spread
    assert abs(dropout.forward(np.ones(keep.shape), keep, 0.1).mean() - 1) < 4 * spread / 0.9
    # No row and no column is treated differently from the others.
    assert np.abs(keep.mean(axis=0) - 0.9).max() < 5 * np.sqrt(0.1 * 0.9 / 300)
    assert np.abs(keep.mean(axis=1) - 0.9).max() < 5 * np.sqrt(0.1 * 0.9 / 400)


def test_a_mask_follows_from_seed_step_and_place_alone() -> None:
    drop = RandomDropout(1, 500)
    mask = drop.at("blocks").at("3").keep((50,), 0.5)
    drop.at("blocks.2").keep((9,), 0.5)
    assert_array_equal(drop.at("blocks.3").keep((50,), 0.5), mask)
    assert_array_equal(generator(1, 500, "blocks.3").random(50, dtype=np.float32) >= 0.5, mask)
    for other in (
        RandomDropout(2, 500, "blocks.3"),
        RandomDropout(1, 501, "blocks.3"),
        drop.at("blocks.4"),
    ):
        assert (other.keep((50,), 0.5) != mask).any()


def test_only_training_drops_at_the_rate_of_a_layer() -> None:
    assert RandomDropout(1, 2).at("x").rate(0.1) == 0.1
    assert NO_DROPOUT.at("x").rate(0.1) == 0.0


def test_a_mask_that_keeps_everything_takes_no_memory() -> None:
    for keep in (NO_DROPOUT.at("x").keep((3, 4), 0.5), RandomDropout(1, 2).keep((3, 4), 0.0)):
        assert keep.shape == (3, 4)
        assert keep.all()
        assert keep.strides == (0, 0)
        assert not keep.flags.writeable
