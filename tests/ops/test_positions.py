"""Position codes: sinusoidal, rotary in both pairings, ALiBi."""

import math
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.axes import Array
from handformer.errors import InputError
from handformer.ops import alibi, rotary, rotary_angles, rotary_interleaved, sinusoidal
from handformer.selfcheck.ops import Case
from tests.ops.mistakes import difference

BOTH = pytest.mark.parametrize("op", [rotary, rotary_interleaved], ids=["halves", "interleaved"])


@pytest.mark.smoke
def test_sinusoidal_by_hand() -> None:
    y = sinusoidal.forward(np.array([0, 1, 50]), 4, 10000.0, np.float64)
    sin, cos = math.sin, math.cos
    assert_array_equal(y[0], [0, 1, 0, 1])
    assert_allclose(y[1], [0.841471, 0.540302, 0.00999983, 0.99995], atol=5e-7)
    assert_allclose(y[2], [sin(50), cos(50), sin(0.5), cos(0.5)], rtol=1e-14)


def test_a_sinusoidal_step_turns_every_pair_by_a_fixed_angle() -> None:
    positions = np.array([[0, 9, 400], [3, 3, 77]])
    here, there = (sinusoidal.forward(positions + step, 6, 10000.0, np.float64) for step in (0, 5))
    assert_array_equal(here[1, 0], here[1, 1])  # one position, one code, whatever the place
    for pair in range(3):
        turn = 5 / 10000 ** (pair / 3)
        sin, cos = here[..., 2 * pair], here[..., 2 * pair + 1]
        expected = sin * math.cos(turn) + cos * math.sin(turn)
        assert_allclose(there[..., 2 * pair], expected, atol=1e-13)


@pytest.mark.smoke
def test_a_quarter_turn_by_hand() -> None:
    x = np.array([[[1.0, 2.0, 3.0, 4.0]]])
    cos, sin = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])  # pair 0 turns, pair 1 stays
    assert_array_equal(rotary.forward(x, cos, sin), [[[-3, 2, 1, 4]]])
    assert_array_equal(rotary.backward(x, cos, sin), [[[3, 2, -1, 4]]])
    assert_array_equal(rotary_interleaved.forward(x, cos, sin), [[[-2, 1, 3, 4]]])
    assert_array_equal(rotary_interleaved.backward(x, cos, sin), [[[2, -1, 3, 4]]])


def test_angles_by_hand() -> None:
    cos, sin = rotary_angles.forward(np.array([0, 3]), 4, 10000.0, np.float64)
    assert_array_equal(cos[0], [1, 1])
    assert_array_equal(sin[0], [0, 0])
    assert_allclose(cos[1], [math.cos(3), math.cos(0.03)], rtol=1e-15)
    assert_allclose(sin[1], [math.sin(3), math.sin(0.03)], rtol=1e-15)


def test_far_positions_are_rounded_once() -> None:
    positions = np.array([257, 100_003])
    exact = positions[:, None] / 10000.0 ** (2 * np.arange(32) / 64)
    cos, sin = rotary_angles.forward(positions, 64, 10000.0, np.float32)
    y = sinusoidal.forward(positions, 64, 10000.0, np.float32)
    assert cos.dtype == sin.dtype == y.dtype == np.float32
    for found, right in ((cos, np.cos(exact)), (sin, np.sin(exact)), (y[:, ::2], np.sin(exact))):
        assert_array_equal(found, right.astype(np.float32))
    early = np.cos(exact.astype(np.float32))  # float32 angles lose three digits here
    assert np.abs(early - cos).max() > 1e-4


@BOTH
def test_a_rotation_keeps_norms_and_scores_depend_on_distance_alone(op: ModuleType) -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 2, 3, 5, 6))

    def turned(x: Array, shift: int) -> Array:
        positions = shift + np.array([[0, 1, 2, 3, 4], [0, 0, 70, 71, 90]])
        return op.forward(x, *rotary_angles.forward(positions, 6, 10000.0, np.float64))

    assert_allclose(np.linalg.norm(turned(q, 9), axis=-1), np.linalg.norm(q, axis=-1), rtol=1e-14)
    scores, later = (turned(q, at) @ turned(k, at).swapaxes(-1, -2) for at in (0, 137))
    assert_allclose(later, scores, atol=1e-12)
    assert np.abs(scores - q @ k.swapaxes(-1, -2)).max() > 0.1
    same = turned(np.broadcast_to(q[:, :1], q.shape), 3)  # heads with the same entries turn alike
    assert_array_equal(same[:, 0], same[:, 2])


@BOTH
def test_backward_turns_back(op: ModuleType) -> None:
    x = np.random.default_rng(0).normal(size=(3, 5, 6))
    turns = rotary_angles.forward(np.arange(5), 6, 10000.0, np.float64)
    assert_allclose(op.backward(op.forward(x, *turns), *turns), x, atol=1e-15)


def test_the_two_pairings_are_one_rotation_of_channels_in_two_orders() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5, 6))
    turns = rotary_angles.forward(np.arange(5), 6, 10000.0, np.float64)
    halves = [0, 2, 4, 1, 3, 5]
    interleaved = rotary_interleaved.forward(x, *turns)
    assert_array_equal(interleaved[..., halves], rotary.forward(x[..., halves], *turns))


def test_an_odd_head_has_no_pairs() -> None:
    with pytest.raises(InputError, match="d_k is 5, expected an even number"):
        rotary_angles.forward(np.arange(3), 5, 10000.0, np.float64)


@pytest.mark.smoke
def test_alibi_by_hand() -> None:
    eight = alibi.forward(1, 1, 8, np.float64).slope
    assert_array_equal(eight, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256])
    twelve = alibi.forward(1, 1, 12, np.float64).slope
    assert_array_equal(twelve[:8], eight)
    assert_allclose(twelve[8:], [0.707107, 0.353553, 0.176777, 0.0883883], atol=5e-7)
    assert_array_equal(alibi.forward(1, 1, 1, np.float64).slope, [1 / 256])
    slope, bias = alibi.forward(2, 4, 4, np.float32)
    assert slope.dtype == bias.dtype == np.float32
    assert_array_equal(slope, [1 / 4, 1 / 16, 1 / 64, 1 / 256])
    assert_array_equal(bias[1] * 16, [[-2, -1, 0, 1], [-3, -2, -1, 0]])


@pytest.mark.parametrize(
    ("op", "wrong"),
    [
        (sinusoidal, "angle[b,i] = positions[b] / base ** (2 * i / d_model)"),
        (sinusoidal, "angle[b,i] = positions[b] / base ** (i / d_model)"),
        (sinusoidal, "angle[b,i] = positions[b] / 1000 ** (2 * (i // 2) / d_model)"),
        (sinusoidal, "angle[b,i] = positions[b] * base ** (2 * (i // 2) / d_model)"),
        (sinusoidal, "y[b,i] = where(i % 2 == 0, cos(angle[b,i]), sin(angle[b,i]))"),
        (sinusoidal, "y[b,i] = where(i < d_model // 2, sin(angle[b,i]), cos(angle[b,i]))"),
        (rotary_angles, "cos[b,t,p] = cos(positions[b,t] / base ** (p / d_k))"),
        (rotary_angles, "cos[b,t,p] = cos(positions[b,t] / base ** (2 * p / (5 * d_k)))"),
        (rotary_angles, "cos[b,t,p] = cos(positions[b,t] / 500000 ** (2 * p / d_k))"),
        (rotary_angles, "sin[b,t,p] = -sin(positions[b,t] / base ** (2 * p / d_k))"),
        (rotary_angles, "cos[b,t,p] = cos((t + 0 * positions[b,t]) / base ** (2 * p / d_k))"),
        (alibi, "slope[h] = 2 ** (-8 * (h + 1) / n_heads)"),
        (alibi, "slope[h] = 2 ** (-8 * h / power)"),
        (alibi, "bias[h,t,s] = slope[h] * (t + n_keys - n_queries - s)"),
        (alibi, "bias[h,t,s] = -slope[h] * (t - s)"),
    ],
)
def test_known_mistakes_are_seen(op: ModuleType, wrong: str) -> None:
    arrays = {} if op is alibi else {"positions": np.array([[0, 1, 64], [5, 6, 200]])}
    sizes = {"n_queries": 3, "n_keys": 5, "n_heads": 12, "d_model": 8, "d_k": 6, "n_pairs": 3}
    case = Case(op, arrays, {**sizes, "base": 10000.0, "dtype": np.float64})
    assert difference(case, wrong) > 0.01


@BOTH
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_turn_the_wrong_way_in_the_other_pairing_or_by_head_is_seen(
    op: ModuleType, direction: str
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 4, 4, 6))
    turns = rotary_angles.forward(np.array([[0, 1, 64, 99], [3, 3, 4, 5]]), 6, 1e4, np.float64)
    other = rotary if op is rotary_interleaved else rotary_interleaved
    right = getattr(op, direction)(x, *turns)
    back = "backward" if direction == "forward" else "forward"
    wrongs = (
        getattr(op, back)(x, *turns),
        getattr(other, direction)(x, *turns),
        getattr(op, direction)(x.swapaxes(1, 2), *turns).swapaxes(1, 2),
    )
    for wrong in wrongs:
        assert np.abs(wrong - right).max() > 0.1
