"""LayerNorm and RMSNorm: rows that can be done by hand, and what a norm can't see."""

from math import sqrt

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from handformer.ops import layer_norm, rms_norm

shapes = st.tuples(st.lists(st.integers(1, 4), max_size=3), st.integers(3, 9)).map(
    lambda parts: (*parts[0], parts[1])
)


def test_layer_norm_of_one_hot_row_by_hand() -> None:
    # mean 1/4, variance ((3/4)^2 + 3 (1/4)^2) / 4 = 3/16; divided by 3 it would be 1/4: 1.5, -0.5
    gamma, beta = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.0, 0.0, 1.0])
    out = layer_norm.forward(np.array([1.0, 0.0, 0.0, 0.0]), gamma, beta, 0.0)
    low = -1 / sqrt(3)
    assert_allclose(out.mean, 0.25)
    assert_allclose(out.rstd, 4 / sqrt(3))
    assert_allclose(out.x_hat, [sqrt(3), low, low, low])
    assert_allclose(out.y, [sqrt(3), 2 * low, 3 * low, 4 * low + 1])


def test_layer_norm_backward_of_one_hot_row_by_hand() -> None:
    # d_x_hat = [0, 2, 0, 0]: mean 1/2, along x_hat -1/(2 sqrt 3); left is 0, 4/3, -2/3, -2/3
    gamma, beta = np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4)
    out = layer_norm.forward(np.array([1.0, 0.0, 0.0, 0.0]), gamma, beta, 0.0)
    back = layer_norm.backward(np.array([0.0, 1.0, 0.0, 0.0]), gamma, beta, out.rstd, out.x_hat)
    assert_allclose(back.d_x_hat, [0, 2, 0, 0])
    assert_allclose(back.d_x, np.array([0, 16, -8, -8]) / (3 * sqrt(3)), atol=1e-15)
    assert_allclose(back.d_gamma, [0, -1 / sqrt(3), 0, 0])
    assert back.d_beta is not None
    assert_allclose(back.d_beta, [0, 1, 0, 0])


def test_eps_stands_under_the_root() -> None:
    x, one = np.array([3.0 - 1e-3, 3.0 + 1e-3]), np.ones(2)
    expected = 1e-3 / sqrt(1e-6 + 1e-5)
    assert_allclose(layer_norm.forward(x, one, None, 1e-5).x_hat, [-expected, expected])
    assert_allclose(rms_norm.forward(x - 3.0, one, 1e-5).x_hat, [-expected, expected])


def test_rms_norm_by_hand() -> None:
    # mean square 12.5; d_x_hat = [1, 0] lies along x_hat with 9 / 25 and 12 / 25 of it
    gamma = np.array([2.0, 1.0])
    out = rms_norm.forward(np.array([3.0, 4.0]), gamma, 0.0)
    assert_allclose(out.rrms, 1 / sqrt(12.5))
    assert_allclose(out.x_hat, np.array([3, 4]) / sqrt(12.5))
    assert_allclose(out.y, np.array([6, 4]) / sqrt(12.5))
    back = rms_norm.backward(np.array([0.5, 0.0]), gamma, out.rrms, out.x_hat)
    assert_allclose(back.d_x_hat, [1, 0])
    assert_allclose(back.d_x, np.array([16, -12]) / 25 / sqrt(12.5))
    assert_allclose(back.d_gamma, [1.5 / sqrt(12.5), 0])


def test_weights_gather_over_every_leading_axis() -> None:
    rng = np.random.default_rng(0)
    d_y, x_hat, gamma, beta = (rng.normal(size=s) for s in ((2, 3, 5), (2, 3, 5), 5, 5))
    back = layer_norm.backward(d_y, gamma, beta, np.ones((2, 3)), x_hat)
    assert back.d_beta is not None
    assert_allclose(
        back.d_beta, [sum(d_y[b, t, i] for b in range(2) for t in range(3)) for i in range(5)]
    )
    assert_allclose(back.d_gamma, np.einsum("bti,bti->i", d_y, x_hat))


def test_a_constant_row_becomes_beta() -> None:
    beta = np.array([0.5, -1.0, 2.0])
    out = layer_norm.forward(np.full((2, 3), 7.0), np.full(3, 9.0), beta, 1e-5)
    assert_allclose(out.y, [beta, beta])
    back = layer_norm.backward(np.ones((2, 3)), np.full(3, 9.0), beta, out.rstd, out.x_hat)
    assert_allclose(back.d_x, np.zeros((2, 3)), atol=1e-12)


@settings(deadline=None)
@given(shapes, st.integers(0, 2**32 - 1))
def test_layer_norm_sees_neither_a_shift_nor_a_stretch(shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, d_y, gamma = rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=shape[-1])
    out = layer_norm.forward(x, gamma, None, 0.0)
    tight = {"rtol": 0, "atol": 1e-12 * out.rstd.max()}
    assert out.mean.shape == out.rstd.shape == shape[:-1]
    assert_allclose(out.x_hat.mean(axis=-1), np.zeros(shape[:-1]), **tight)
    assert_allclose((out.x_hat**2).mean(axis=-1), np.ones(shape[:-1]), **tight)
    assert_allclose(layer_norm.forward(3 * x - 5, gamma, None, 0.0).x_hat, out.x_hat, **tight)
    # So no gradient lies in those two directions.
    direction = layer_norm.backward(d_y, gamma, None, out.rstd, out.x_hat).d_x
    direction = direction / out.rstd[..., None]
    assert_allclose(direction.sum(axis=-1), np.zeros(shape[:-1]), **tight)
    assert_allclose((direction * out.x_hat).sum(axis=-1), np.zeros(shape[:-1]), **tight)


@settings(deadline=None)
@given(shapes, st.integers(0, 2**32 - 1))
def test_rms_norm_is_layer_norm_without_the_mean(shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, d_y, gamma = rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=shape[-1])
    x = x - x.mean(axis=-1, keepdims=True)
    full, plain = layer_norm.forward(x, gamma, None, 1e-3), rms_norm.forward(x, gamma, 1e-3)
    assert_allclose(plain.rrms, full.rstd, rtol=1e-10)
    assert_allclose(plain.y, full.y, rtol=0, atol=1e-10)
    ours = rms_norm.backward(d_y, gamma, plain.rrms, plain.x_hat)
    theirs = layer_norm.backward(d_y, gamma, None, full.rstd, full.x_hat)
    without_mean = ours.d_x - ours.d_x.mean(axis=-1, keepdims=True)
    assert_allclose(
        without_mean, theirs.d_x, rtol=0, atol=1e-10 * np.abs(theirs.d_x).max(initial=1)
    )
    assert_allclose(ours.d_gamma, theirs.d_gamma, rtol=0, atol=1e-10)
