"""Cross-entropy: losses and gradients by hand, ignored targets, smoothing, large logits."""

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from handformer.errors import InputError
from handformer.ops import cross_entropy, softmax
from handformer.ops.cross_entropy import IGNORED

ONE = np.array(1.0)
# Rows whose probabilities are 1/6, 1/3, 1/2 and 1/4, 1/4, 1/2.
LOGITS = np.log(np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 10.0], [7.0, 1.0, 1.0]]))


def test_loss_and_gradient_by_hand() -> None:
    targets = np.array([1, 2, IGNORED])
    out = cross_entropy.forward(LOGITS, targets, 0.0)
    assert_allclose(out.probs[:2], [[1 / 6, 1 / 3, 1 / 2], [1 / 4, 1 / 4, 1 / 2]])
    assert_allclose(out.losses, [log(3), log(2), 0])
    assert_allclose(out.loss, log(6) / 2)  # over the two that count, not over three
    assert out.count == 2
    d_logits = cross_entropy.backward(ONE, out.probs, targets, out.count, 0.0)
    assert_allclose(d_logits[0], np.array([1 / 6, -2 / 3, 1 / 2]) / 2)
    assert_allclose(d_logits[1], np.array([1 / 4, 1 / 4, -1 / 2]) / 2)
    assert_array_equal(d_logits[2], np.zeros(3))


def test_smoothing_by_hand() -> None:
    # the goal of the first row: 0.3 / 3 everywhere and 0.7 more at its target
    targets = np.array([1, 2, IGNORED])
    out = cross_entropy.forward(LOGITS, targets, 0.3)
    assert_allclose(out.losses[0], 0.1 * log(6) + 0.8 * log(3) + 0.1 * log(2))
    d_logits = cross_entropy.backward(ONE, out.probs, targets, out.count, 0.3)
    assert_allclose(d_logits[0], (np.array([1 / 6, 1 / 3, 1 / 2]) - [0.1, 0.8, 0.1]) / 2)
    assert_array_equal(d_logits[2], np.zeros(3))


def test_smoothing_mixes_the_loss_with_the_mean_over_the_vocabulary() -> None:
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(2, 3, 5)), rng.integers(0, 5, (2, 3))
    each = -np.log(softmax.forward(logits))
    at_target = np.take_along_axis(each, targets[..., None], axis=-1)[..., 0]
    expected = 0.9 * at_target + 0.1 * each.mean(axis=-1)
    assert_allclose(cross_entropy.forward(logits, targets, 0.1).losses, expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_with_all_targets_ignored_nothing_is_lost_and_nothing_flows(smoothing: float) -> None:
    targets = np.full(3, IGNORED)
    out = cross_entropy.forward(LOGITS, targets, smoothing)
    assert out.count == 0
    assert out.loss == 0
    d_logits = cross_entropy.backward(ONE, out.probs, targets, out.count, smoothing)
    assert_array_equal(d_logits, np.zeros((3, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_logits_lose_nothing(dtype: Any) -> None:
    """exp(1e4) would overflow, and the logarithm of the target's own probability would be -inf."""
    logits = np.array([[1e4, 0.0, -1e4], [1e4, 0.0, -1e4], [-1e4, -1e4, -1e4]], dtype=dtype)
    targets = np.array([0, 2, 1])
    out = cross_entropy.forward(logits, targets, 0.0)
    assert_allclose(out.losses, [0, 2e4, log(3)], rtol=1e-6)
    assert_array_equal(out.probs[0], [1, 0, 0])
    d_logits = cross_entropy.backward(np.array(3, dtype), out.probs, targets, out.count, 0.0)
    expected = np.array([[0, 0, 0], [3, 0, -3], [1, -2, 1]]) / 3
    assert_allclose(d_logits, expected, rtol=1e-6)
    assert {a.dtype for a in (out.probs, out.losses, out.loss, d_logits)} == {np.dtype(dtype)}


def test_micro_batches_divided_by_the_whole_count_add_up_to_the_batch() -> None:
    rng = np.random.default_rng(0)
    logits, targets = rng.normal(size=(5, 7)), np.array([3, IGNORED, IGNORED, 6, 0])
    whole = cross_entropy.forward(logits, targets, 0.1)
    parts = [cross_entropy.forward(logits[at], targets[at], 0.1) for at in (slice(3), slice(3, 5))]
    assert [int(part.count) for part in parts] == [1, 2]
    assert_allclose((parts[0].losses.sum() + parts[1].losses.sum()) / 3, whole.loss)
    d_parts = [
        cross_entropy.backward(ONE, part.probs, targets[at], whole.count, 0.1)
        for part, at in zip(parts, (slice(3), slice(3, 5)), strict=True)
    ]
    d_whole = cross_entropy.backward(ONE, whole.probs, targets, whole.count, 0.1)
    assert_allclose(np.concatenate(d_parts), d_whole)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 4), max_size=3).map(tuple),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.2]),
    st.integers(0, 2**32 - 1),
)
def test_rows_of_the_gradient_sum_to_0_and_a_shift_changes_nothing(
    shape: tuple[int, ...], vocab_size: int, smoothing: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    logits = 5 * rng.normal(size=(*shape, vocab_size))
    targets = np.asarray(rng.integers(0, vocab_size, shape))
    targets = np.where(rng.random(shape) < 0.3, IGNORED, targets)
    out = cross_entropy.forward(logits, targets, smoothing)
    d_logits = cross_entropy.backward(ONE, out.probs, targets, out.count, smoothing)
    assert d_logits.shape == logits.shape
    assert out.losses.shape == shape
    assert out.loss >= 0
    assert_allclose(d_logits.sum(axis=-1), np.zeros(shape), atol=1e-14)
    assert_array_equal(d_logits[targets == IGNORED], 0)
    assert_allclose(
        cross_entropy.forward(logits + 300, targets, smoothing).loss, out.loss, rtol=1e-11
    )


@pytest.mark.parametrize("target", [-1, 3])
def test_a_target_outside_the_vocabulary_is_an_error(target: int) -> None:
    with pytest.raises(InputError, match=rf"^target {target} is outside .* 0 to 2, or -100"):
        cross_entropy.forward(LOGITS, np.array([0, target, 1]), 0.0)
