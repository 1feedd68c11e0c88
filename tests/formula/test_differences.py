"""Finite differences: against derivatives known from calculus, and against wrong ones."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer.formula import Formula, Sheet, evaluate, evaluate_all, slope
from handformer.formula.differences import _AT_ONCE

RNG = np.random.default_rng(0)
ATTENTION = Sheet.parse("""
    scores[b,t,s]  = sum(c, q[b,t,c] * k[b,s,c]) / sqrt(d_k)
    attn[b,t,s]    = exp(scores[b,t,s] - top[b,t]) / total[b,t]
    total[b,t]    := sum(s, exp(scores[b,t,s] - top[b,t]))
    top[b,t]      := max(s, scores[b,t,s])
    d_scores[b,t,s] = attn[b,t,s] * (d_attn[b,t,s] - sum(r, attn[b,t,r] * d_attn[b,t,r]))
    d_q[b,t,c]     = sum(s, d_scores[b,t,s] * k[b,s,c]) / sqrt(d_k)
    d_k[b,s,c]     = sum(t, d_scores[b,t,s] * q[b,t,c]) / sqrt(d_k)
""")


def attention(*leading: int) -> tuple[dict[str, Any], dict[str, Any]]:
    shapes = {"q": (3, 4), "k": (5, 4), "d_attn": (3, 5)}
    values: dict[str, Any] = {n: RNG.normal(size=(*leading, *s)) for n, s in shapes.items()}
    return values | evaluate_all(ATTENTION, values, {"d_k": 4}), {"d_k": 4}


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("name", ["scores", "q", "k"])
def test_right_derivatives_are_met_to_ten_places(name: str, leading: tuple[int, ...]) -> None:
    values, scalars = attention(*leading)
    found = slope(ATTENTION, ["attn"], name, values, scalars)
    assert found.shape == values[name].shape
    assert_allclose(found, values[f"d_{name}"], atol=1e-10 * abs(values[f"d_{name}"]).max())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("d_scores", "attn[b,t,s] * d_attn[b,t,s]"),
        ("d_scores", "attn[b,t,s] * (d_attn[b,t,s] + sum(r, attn[b,t,r] * d_attn[b,t,r]))"),
        ("d_q", "sum(s, d_scores[b,t,s] * k[b,s,c])"),
        ("d_k", "1.000001 * sum(t, d_scores[b,t,s] * q[b,t,c]) / sqrt(d_k)"),
    ],
)
def test_a_wrong_derivative_is_caught(name: str, wrong: str) -> None:
    values, scalars = attention(2)
    right = ATTENTION[name]
    formula = Formula.parse(f"{right.text.partition('=')[0]}= {wrong}")
    stated = evaluate(ATTENTION.replace(formula), name, values, scalars)
    found = slope(ATTENTION, ["attn"], name[2:], values, scalars)
    assert abs(found - stated).max() > 1e-7 * abs(stated).max()
    assert abs(found - values[name]).max() < 1e-9 * abs(stated).max()


def test_functions_have_the_slopes_that_calculus_gives() -> None:
    x = np.array([-30.0, -1.5, -0.2, 0.3, 2.0, 50.0])
    values = {"x": x, "d_y": np.array([1.0, -2.0, 3.0, 0.5, 0.1, 2.0])}
    for text, right in [
        ("sin(x[i])", np.cos(x)),
        ("tanh(x[i])", 1 - np.tanh(x) ** 2),
        ("erf(x[i])", 2 / np.sqrt(np.pi) * np.exp(-x * x)),
        ("x[i] ** 2 / 7", 2 * x / 7),
        ("where(x[i] > 0, x[i], 0)", np.where(x > 0, 1, 0)),
        ("3", 0 * x),
    ]:
        found = slope(Sheet.parse(f"y[i] = {text}"), ["y"], "x", values, {"d_model": 6})
        assert_allclose(found, right * values["d_y"], rtol=1e-9, atol=1e-9, err_msg=text)


def test_the_loss_takes_every_output_in_also_the_moved_value_itself() -> None:
    sheet = Sheet.parse("""
        mid[i] = 2 * x[i]
        y[i]   = mid[i] ** 2
        loss   = sum(i, y[i]) * x[0] + part.out
        part.out = 3 * mid[1]
    """)
    values: dict[str, Any] = {"x": np.array([1.0, 2.0])}
    values |= evaluate_all(sheet, values, {})
    values |= {
        "d_mid": np.array([10.0, 20.0]),
        "d_loss": np.array(5.0),
        "part.d_out": np.array(7.0),
    }
    ends = ["mid", "loss", "part.out"]
    mid = slope(sheet, ends, "mid", values, {})
    assert_allclose(mid, [10 + 5 * 2 * 2, 20 + 5 * (2 * 4 + 3) + 7 * 3], rtol=1e-10)
    x = slope(sheet, ends, "x", values, {})
    assert_allclose(x, 2 * mid + [5 * (4 + 16), 0], rtol=1e-10)
    assert_allclose(slope(sheet, ends, "loss", values, {}), 5, rtol=1e-10)
    assert slope(sheet, ["mid"], "loss", values, {}) == 0


def test_an_array_of_any_size_is_moved_entry_by_entry() -> None:
    sheet = Sheet.parse("y[t] = sum(i, x[t,i] ** 2 * x[t,0])")
    x, d_y = RNG.normal(size=(5, _AT_ONCE)), RNG.normal(size=5)
    found = slope(sheet, ["y"], "x", {"x": x, "d_y": d_y}, {})
    right = 2 * x * x[:, :1]
    right[:, 0] += (x**2).sum(axis=1)
    assert_allclose(found, right * d_y[:, None], rtol=1e-8, atol=1e-10)
    assert slope(sheet, ["y"], "x", {"x": x[:0], "d_y": d_y[:0]}, {}).shape == (0, _AT_ONCE)
