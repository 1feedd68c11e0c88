"""ReLU, both GELUs, SiLU, and the gated products made from them."""

from math import erfc, exp, pi, sqrt
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.ops import geglu, gelu, gelu_tanh, relu, silu, swiglu

EVERY = (relu, gelu, gelu_tanh, silu)


@pytest.mark.parametrize(
    ("op", "value", "slope"),
    [
        # slopes at 1: normal cdf 0.84134 + density 0.24197; sigmoid s + s (1 - s), s = 0.73106
        (relu, 1.0, 1.0),
        (gelu, 0.8413447460685429, 1.0833154705876862),
        (gelu_tanh, 0.8411919906082768, 1.0829640838457826),
        (silu, 0.7310585786300049, 0.9276705118714867),
    ],
)
def test_values_and_slopes_at_one(op: ModuleType, value: float, slope: float) -> None:
    x = np.array([1.0])
    assert_allclose(op.forward(x), [value], rtol=1e-15)
    assert_allclose(op.backward(np.array([2.0]), x), [2 * slope], rtol=1e-14)


def test_relu_has_no_slope_at_zero_and_below() -> None:
    x, d_y = np.array([-1.0, -0.0, 0.0, 1e-300]), np.array([5.0, 6.0, 7.0, 8.0])
    assert_array_equal(relu.forward(x), [0, 0, 0, 1e-300])
    assert_array_equal(relu.backward(d_y, x), [0, 0, 0, 8])


@pytest.mark.parametrize("op", EVERY)
def test_what_is_lost_below_zero_is_kept_above(op: ModuleType) -> None:
    """The share of x that passes at x and the one at -x make 1: f(x) - f(-x) = x for all four."""
    x = np.linspace(0.01, 9, 200)
    one = np.ones_like(x)
    assert_allclose(op.forward(x) - op.forward(-x), x, rtol=1e-14)
    assert_allclose(op.backward(one, x) + op.backward(one, -x), one, rtol=1e-14)


@pytest.mark.parametrize("op", EVERY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_from_zero_all_or_nothing_passes(op: ModuleType, dtype: Any) -> None:
    """Without a warning: exp overflows above 88.7 in float32, 709.8 in float64."""
    x = np.array([-1e9, -1e4, -800, 800, 1e4, 1e9], dtype=dtype)
    expected = np.array([0, 0, 0, 1, 1, 1], dtype=dtype)
    y, d_x = op.forward(x), op.backward(np.ones_like(x), x)
    assert y.dtype == d_x.dtype == dtype
    assert_array_equal(y, expected * x)
    assert_array_equal(d_x, expected)


def test_the_two_gelus_differ_by_the_known_gap() -> None:
    x = np.linspace(-6, 6, 2401)
    gap = np.abs(gelu.forward(x) - gelu_tanh.forward(x))
    assert_allclose(gap.max(), 4.73e-4, rtol=1e-3)
    assert_allclose(np.abs(x[gap.argmax()]), 2.70, atol=0.01)


def test_float32_tails_keep_their_digits() -> None:
    """Where 1 + tanh would leave nothing but rounding."""
    x = np.array([-6.0, -30.0], dtype=np.float32)
    inner = sqrt(2 / pi) * (6 + 0.044715 * 6**3)
    assert_allclose(gelu_tanh.forward(x[:1]), [-6 / (1 + exp(2 * inner))], rtol=1e-5)
    assert_allclose(silu.forward(x), [-6 / (1 + exp(6)), -30 / (1 + exp(30))], rtol=1e-5)


def test_swiglu_by_hand() -> None:
    # silu(1) = 0.73106, silu(-1) = -0.26894: activated is the gate, not up and not the product
    gate, up = np.array([1.0, -1.0]), np.array([2.0, 3.0])
    out = swiglu.forward(gate, up)
    assert_allclose(out.act, [0.7310585786, -0.2689414214], rtol=1e-9)
    assert_allclose(out.y, [1.4621171573, -0.8068242641], rtol=1e-9)
    back = swiglu.backward(np.array([1.0, 2.0]), gate, up, out.act)
    assert_allclose(back.d_act, [2, 6])
    assert_allclose(back.d_gate, [2 * 0.9276705119, 6 * 0.0723294881], rtol=1e-8)
    assert_allclose(back.d_up, [0.7310585786, -0.5378828427], rtol=1e-9)


@pytest.mark.parametrize(("op", "activation"), [(swiglu, silu), (geglu, gelu)])
def test_gated_is_the_activation_times_up(op: ModuleType, activation: ModuleType) -> None:
    rng = np.random.default_rng(0)
    d_y, gate, up = rng.normal(size=(3, 2, 4, 5))
    out = op.forward(gate, up)
    back = op.backward(d_y, gate, up, out.act)
    assert_array_equal(out.act, activation.forward(gate))
    assert_array_equal(out.y, activation.forward(gate) * up)
    assert_array_equal(back.d_act, d_y * up)
    assert_array_equal(back.d_gate, activation.backward(d_y * up, gate))
    assert_array_equal(back.d_up, d_y * activation.forward(gate))
    # With nothing held back by up, the gated product is its activation.
    assert_array_equal(op.forward(gate, np.ones_like(gate)).y, activation.forward(gate))


def test_gelu_keeps_its_digits_in_the_tail() -> None:
    """1 + erf(u) would cancel there: in float32 nothing is left at -6."""
    x = np.array([-5.0, -5.5, -6.0], dtype=np.float32)
    expected = [z * erfc(-z / sqrt(2)) / 2 for z in x.astype(float)]
    assert_allclose(gelu.forward(x), expected, rtol=1e-5)


def test_gelu_tanh_stands_any_finite_number() -> None:
    x = np.array([-3e38, -1e20, 1e20, 3e38], dtype=np.float32)
    assert_allclose(gelu_tanh.forward(x), [0, 0, 1e20, 3e38], rtol=1e-6)
    assert_allclose(gelu_tanh.backward(np.ones_like(x), x), [0, 0, 1, 1])
