"""The oracle: against NumPy, against exact fractions, and what a wrong formula deserves."""

from fractions import Fraction
from math import erf, inf
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from handformer.formula import FormulaError, Sheet, evaluate, evaluate_all

pytestmark = pytest.mark.smoke

RNG = np.random.default_rng(0)
LINEAR = Sheet.parse("""
    y[b,j]    = sum(i, x[b,i] * w[i,j]) + bias[j]
    d_x[b,i]  = sum(j, d_y[b,j] * w[i,j])
    d_w[i,j]  = sum(b, x[b,i] * d_y[b,j])
    d_bias[j] = sum(b, d_y[b,j])
    share[b]  = mean(j, y[b,j]) / 3 + 0.1
""")


def normal(*shape: int) -> NDArray[np.float64]:
    return RNG.normal(size=shape)


def one(text: str, values: dict[str, Any] | None = None, **scalars: Any) -> NDArray[Any]:
    """The value of the first formula of a sheet."""
    sheet = Sheet.parse(text)
    arrays = {name: np.asarray(array) for name, array in (values or {}).items()}
    return evaluate(sheet, next(iter(sheet)).name, arrays, scalars)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (0,), (1,)])
def test_the_letter_b_is_any_number_of_leading_axes(leading: tuple[int, ...]) -> None:
    arrays = {"x": normal(*leading, 4), "w": normal(4, 5), "bias": normal(5)}
    arrays["d_y"] = normal(*leading, 5)
    found = evaluate_all(LINEAR, arrays, {})
    rows_x, rows_d_y = arrays["x"].reshape(-1, 4), arrays["d_y"].reshape(-1, 5)
    assert_allclose(found["y"], arrays["x"] @ arrays["w"] + arrays["bias"], rtol=1e-14)
    assert found["y"].shape == (*leading, 5)
    assert_allclose(found["d_x"], arrays["d_y"] @ arrays["w"].T, rtol=1e-14)
    assert_allclose(found["d_w"], rows_x.T @ rows_d_y, rtol=1e-13, atol=1e-15)
    assert_allclose(found["d_bias"], rows_d_y.sum(axis=0), rtol=1e-13, atol=1e-15)


def test_leading_axes_may_stand_anywhere() -> None:
    x, y = normal(5, 2, 3, 4), normal(2, 3)
    found = one("z[i,b] = sum(c, x[i,b,c]) * y[b]", {"x": x, "y": y})
    assert_allclose(found, x.sum(axis=-1) * y, rtol=1e-14)
    found = one("z[t,b,s] = y[b] + t - s", {"y": y}, n_queries=2, n_keys=5)
    places = np.arange(2)[:, None, None, None] - np.arange(5)
    assert_allclose(found, y[None, :, :, None] + places)


def test_axes_are_ordered_as_on_the_left() -> None:
    x, y = normal(2, 3), normal(4)
    found = one("z[s,i,t] = x[i,t] - y[s]", {"x": x, "y": y})
    assert_array_equal(found, x[None] - y[:, None, None])
    assert_array_equal(one("z[t,s] = x[s,t]", {"x": x}), x.T)
    assert_array_equal(one("z[i] = x[i,i] * 2", {"x": normal(3, 3) * 0 + np.eye(3)}), [2, 2, 2])


def test_places_can_be_calculated_and_looked_up() -> None:
    x, w, table = normal(2, 3, 8), normal(12, 5), normal(6, 4)
    split = one("q[b,t,h,c] = x[b,t,h*d_k + c]", {"x": x}, n_heads=4, d_k=2)
    assert_array_equal(split, x.reshape(2, 3, 4, 2))
    z = normal(2, 3, 4, 3)
    merged = one("y[b,t,j] = sum(h, c, z[b,t,h,c] * w[h*d_k + c,j])", {"z": z, "w": w}, d_k=3)
    assert_allclose(merged, z.reshape(2, 3, 12) @ w, rtol=1e-13)
    tokens = np.array([[1, 5, 1], [0, 2, 2]])
    found = one(
        "y[b,t,j] = scale * table[tokens[b,t],j]", {"table": table, "tokens": tokens}, scale=3
    )
    assert_array_equal(found, 3 * table[tokens])
    turned = one("y[t,c] = x[t,(c + d_k // 2) % d_k]", {"x": table}, d_k=4)
    assert_array_equal(turned, np.roll(table, 2, axis=-1))


def test_where_needs_only_the_side_that_is_taken() -> None:
    x = np.array([3.0, 4.0, 5.0])
    before = one("y[t] = where(t > 0, x[t - 1], -1)", {"x": x}, n_queries=3)
    assert_array_equal(before, [-1, 3, 4])
    after = one("y[t] = where(t == 0, 0, where(t + 1 < 3, x[t + 1], x[t]))", {"x": x})
    assert_array_equal(after, [0, 5, 5])
    safe = one("y[t] = where(x[t] == 4, 0, 1 / (x[t] - 4))", {"x": x})
    assert_array_equal(safe, [-1, 0, 1])


def test_functions_constants_and_operators() -> None:
    x = np.array([0.25, 2.0])
    found = one(
        "y[i] = exp(x[i]) + log(x[i]) + sqrt(x[i]) + tanh(x[i]) + erf(x[i]) + sin(x[i]) * cos(pi)",
        {"x": x},
    )
    elsewhere = np.array([erf(0.25), erf(2.0)])
    right = np.exp(x) + np.log(x) + np.sqrt(x) + np.tanh(x) + elsewhere - np.sin(x)
    assert_allclose(found, right, rtol=1e-14)
    assert_array_equal(one("y[i] = -inf * x[i]", {"x": x}), [-inf, -inf])
    assert_array_equal(one("y[i] = 7 // 2 + i % 2 + 2 ** (-i) + 2 ** i", d_model=3), [5, 6.5, 7.25])
    found = one("y[i] = i < 1 or i >= 2 and i != 3", d_model=4)
    assert_array_equal(found, [True, False, True, False])
    assert found.dtype == bool
    assert_array_equal(one("y[i] = (i > 0) + (i >= 1) - (i <= 0) * 5", d_model=2), [-5, 2])
    assert_array_equal(one("y[i] = -(i == 1)", d_model=2), [0, -1])


def test_sums_maxima_and_means_over_one_index_or_several_also_over_nothing() -> None:
    x = normal(2, 3, 4)
    assert_allclose(one("y[t] = sum(h, c, x[h,t,c])", {"x": x}), x.sum(axis=(0, 2)), rtol=1e-14)
    assert_allclose(one("y = mean(h, t, c, x[h,t,c])", {"x": x}), x.mean(), rtol=1e-13)
    assert_array_equal(one("y[h,c] = max(t, x[h,t,c])", {"x": x}), x.max(axis=1))
    assert_array_equal(one("y[h] = sum(t, 2)", n_heads=2, n_queries=3), [6, 6])
    mask = x[0] > 0
    assert_array_equal(one("y[t] = sum(c, m[t,c])", {"m": mask}), mask.sum(axis=1))
    assert_array_equal(one("y[t] = mean(c, m[t,c])", {"m": mask}), mask.mean(axis=1))
    nothing = {"x": np.empty((3, 0))}
    assert_array_equal(one("y[t] = sum(c, x[t,c])", nothing), [0, 0, 0])
    assert_array_equal(one("y[t] = max(c, x[t,c])", nothing), [-inf] * 3)
    assert_array_equal(one("y[t] = mean(c, x[t,c])", nothing), [np.nan] * 3)
    assert_array_equal(one("y[t] = max(i, i)", n_queries=3, d_model=0), [-inf] * 3)


def test_names_that_are_not_given_come_from_their_own_formulas() -> None:
    text = """
        y[b,j]    = exp(x[b,j] - top[b]) / total[b]
        total[b] := sum(i, exp(x[b,i] - top[b]))
        top[b]   := max(i, x[b,i])
        loss      = sum(b, j, y[b,j]) / scale + loss_0
    """
    x = normal(3, 4)
    right = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    assert_allclose(one(text, {"x": x}), right, rtol=1e-14)
    values = {"x": x, "top": np.zeros(3), "loss_0": np.array(2.0)}
    found = evaluate_all(Sheet.parse(text), values, {"scale": np.float32(3)})
    assert list(found) == ["y", "loss"]
    assert found["loss"].shape == ()
    assert_allclose(found["loss"], 3.0, rtol=1e-14)


def test_results_are_new_arrays_of_float64_and_inputs_stay() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    x.flags.writeable = False
    found = one("y[t,i] = x[t,i]", {"x": x})
    assert found.dtype == np.float64
    assert found.flags.writeable
    assert not np.shares_memory(found, x)
    assert one("y[t,i] = 0 * x[t,i] + 1 / 3", {"x": x})[0, 0] == 1 / 3
    third = one("y = scale / 3", scale=np.float32(1))
    assert third == 1 / 3
    wide = one("y[t] = n[t] * 2", {"n": np.array([2**31 - 1], dtype=np.int32)})
    assert_array_equal(wide, [2**32 - 2])


def test_one_entry_alone() -> None:
    x, w = normal(2, 3, 4), normal(4, 5)
    values = {"x": x, "w": w, "bias": normal(5)}
    whole = evaluate(LINEAR, "y", values, {})
    entry = evaluate(LINEAR, "y", values, {}, at={"b": 4, "j": 2})
    assert entry.shape == (1, 1)
    assert_allclose(entry[0, 0], whole.reshape(-1, 5)[4, 2], rtol=1e-15)
    column = evaluate(LINEAR, "y", values, {}, at={"j": 2})
    assert_allclose(column, whole[..., 2:3], rtol=1e-15)


def test_sizes_come_from_the_config_or_from_the_value_itself() -> None:
    text = "d_w[i,j] = x[i] * d_y[j // d_k,j % d_k]"
    values = {"x": normal(3), "d_y": normal(4, 2)}
    right = np.outer(values["x"], values["d_y"])
    assert_allclose(one(text, values, d_k=2, d_model=8), right)
    assert_allclose(one(text, {**values, "d_w": np.zeros((3, 8))}, d_k=2, d_model=5), right)
    narrow = {"m": np.zeros((3, 1))}  # an axis is missing: the config knows better
    assert one("m[t,s] = s <= t", narrow, n_queries=3, n_keys=5).shape == (3, 5)
    own = {"d_w": np.zeros((2, 3))}
    assert_array_equal(one("d_w[b] = 1", own), np.ones((2, 3)))


def fractions(*shape: int) -> NDArray[Any]:
    numbers = RNG.integers(-20, 20, size=(*shape, 2))
    return np.array([Fraction(int(a), int(b * b) + 1) for a, b in numbers.reshape(-1, 2)]).reshape(
        shape
    )


@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_fractions_stay_exact_and_equal_floats(leading: tuple[int, ...]) -> None:
    shapes = {"x": (*leading, 4), "w": (4, 5), "bias": (5,), "d_y": (*leading, 5)}
    exact = {name: fractions(*shape) for name, shape in shapes.items()}
    found = evaluate_all(LINEAR, exact, {})
    floats = {name: array.astype(np.float64) for name, array in exact.items()}
    near = evaluate_all(LINEAR, floats, {})
    for name, array in found.items():
        assert {type(entry) for entry in array.flat} == {Fraction}
        assert_allclose(array.astype(np.float64), near[name], rtol=1e-13, atol=1e-13)
    assert_array_equal(found["y"], exact["x"] @ exact["w"] + exact["bias"])
    assert_array_equal(found["share"], found["y"].mean(axis=-1) / 3 + Fraction(1, 10))


def test_whole_numbers_among_fractions_stay_exact_too() -> None:
    x = fractions(3)
    found = one(
        "y[i] = where(x[i] < 0, i / max(j, j), max(j, x[j])) ** 2 + n[p[i]] / width",
        {"x": x, "n": np.array([5, 7]), "p": np.array([1, 0, 1])},
        width=3,
    )
    top = max(x)
    right = [
        (Fraction(i, 2) if x[i] < 0 else top) ** 2 + Fraction([7, 5, 7][i], 3) for i in range(3)
    ]
    assert found.tolist() == right
    assert_allclose(one("y[i] = n[i] / 3", {"n": np.array([1, 2])}), [1 / 3, 2 / 3])
    assert one("y = rate / 2", rate=Fraction(1, 3)).dtype == np.float64


def test_a_root_of_a_fraction_is_an_error() -> None:
    with pytest.raises(
        FormulaError, match="sqrt isn't exact: give floats, not fractions"
    ) as caught:
        one("y[i] = x[i] / sqrt(d_k)", {"x": fractions(2)}, d_k=4)
    assert caught.value.column == 14


@pytest.mark.parametrize(
    ("text", "pointed", "reason"),
    [
        ("y[i] = x[i] * scoers[i]", "scoers", "unknown name scoers; did you mean scores?"),
        ("y[i] = x[i] * esp", "esp", "unknown name esp; did you mean eps?"),
        ("y[i] = x[i] + sum(t, w[i,t])", "i,t", "index i runs over 3 in x and 2 in w"),
        ("y[t] = sum(i, v[i]) + sum(i, x[i])", "i])", "index i runs over 2 in v and 3 in x"),
        ("y[b] = w[b] + m[b]", "b]", "index b runs over (2, 4) in w and (2, 3) in m"),
        ("y[t,s] = w[t,s] + x[t,s]", "x", "x has 1 axes, not 2"),
        ("y[b] = x[b] + loss[b,0]", "loss", "loss has 0 axes, not at least 1"),
        ("y[t] = x[t + 1]", "t + 1", "place 3 is outside x (0 to 2)"),
        ("y[t] = 1 + x[t - 1]", "t - 1", "place -1 is outside x (0 to 2)"),
        ("y[t] = 1 + x[t / 2]", "t / 2", "place 0.5 is outside x (0 to 2)"),
        ("y[t] = where(t < 2, x[t + 2], 0)", "t + 2", "place 3 is outside x (0 to 2)"),
        ("y[t] = 1 + x[ids[t]]", "ids[", "place 7 is outside x (0 to 2)"),
        ("y[i] = x[i] + w", "w", "w has 2 axes: name its places in brackets"),
        ("y[h] = eps", "h] = ", "nothing tells how far h runs: give n_heads"),
        ("y[r] = eps", "r] = ", "nothing tells how far r runs"),
        ("y[i] = x[i] + sum(h, 1)", "sum", "nothing tells how far h runs: give n_heads"),
        ("y[i] = x[i] + z[i]\nz[i] = 2 * y[i]", "y[i]", "y is needed for itself"),
    ],
)  # fmt: skip
def test_a_formula_that_does_not_fit_is_pointed_at(text: str, pointed: str, reason: str) -> None:
    values = {
        "x": normal(3), "v": normal(2), "w": normal(2, 4), "m": normal(2, 3), "scores": normal(3),
        "loss": np.array(1.0), "ids": np.array([0, 7, 1]),
    }  # fmt: skip
    with pytest.raises(FormulaError) as caught:
        one(text, values, eps=1e-5, n_queries=3)
    error = caught.value
    assert error.reason == reason
    assert error.column == error.text.rindex(pointed)
