"""What rounding explains, rule by rule; that it is enough for our code, and not for a mistake."""

from dataclasses import replace
from math import inf, pi, sqrt
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from handformer import fast
from handformer.formula import Sheet
from handformer.formula.located import Located
from handformer.formula.rounding import bounded, rounding, roundings
from handformer.ops import cross_entropy
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.ops import Case, run

CASES = all_cases(np.random.default_rng(3))
# One rounding in float32, and one in float64: both sides of the comparison round.
U = 2.0**-24 + 2.0**-53


def located(text: str, values: dict[str, Any], place: tuple[int, ...] = (), **scalars: Any) -> Any:
    sheet = Sheet.parse(text)
    arrays = {name: np.asarray(array) for name, array in values.items()}
    return Located(sheet, next(iter(sheet)).name, place, arrays, scalars)


def bound(text: str, place: tuple[int, ...] = (), dtype: Any = np.float32, **values: Any) -> float:
    scalars = {name: value for name, value in values.items() if not isinstance(value, list)}
    arrays = {name: value for name, value in values.items() if isinstance(value, list)}
    return rounding(located(text, arrays, place, **scalars), dtype)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("y = x[0]", 0),  # what is only copied is exact
        ("y = -x[0]", 0),
        ("y = x[0] + x[1]", 5 * U),
        ("y = x[0] - x[1]", 5 * U),  # the magnitude: signs don't count
        ("y = x[0] * x[1]", 6 * U),
        ("y = x[0] / x[1]", 2 / 3 * U),
        ("y = x[0] * (x[1] - x[2])", (2 * 7 + 2 * 7) * U),  # multiplied out or not
        ("y = (x[0] + x[1]) * x[2]", (4 * 5 + 4 * 5) * U),
        ("y = sum(i, x[i])", 3 * 9 * U),
        ("y = mean(i, x[i])", (3 * 9 / 3 + 3) * U),
        ("y = sum(i, x[i] * w[i])", (2 + 2) * U),  # two of the terms are 0
        ("y = max(i, 2 * x[i])", 8 * U),
        ("y = exp(x[0])", 4 * np.exp(2) * U),
        ("y = x[0] ** 2", 4 * 4 * U),
        ("y = sqrt(x[2])", 4 * 2 * U),
        ("y = 0.1 * x[0]", (2 * 0.1 + 0.2) * U),  # the number itself was rounded
        ("y = 3 * x[0]", 6 * U),
        ("y = x[0] * pi", (2 * pi + 2 * pi) * U),
        ("y = where(x[0] > 0, x[0] + x[1], 1 / 0)", 5 * U),
        ("y = where(x[0] < 0, 1 / 0, x[0])", 0),
        ("y = part / x[0]\npart := x[0] + x[1]", (5 / 2 + 5 / 2) * U),  # looked through
    ],
)
def test_a_rule_gives_the_bound_that_is_found_by_hand(text: str, right: float) -> None:
    found = bound(text, x=[2.0, 3.0, 4.0], w=[0.0, 0.0, 0.5])
    assert found == pytest.approx(right, rel=1e-5, abs=1e-30)


def test_an_error_moves_on_as_a_function_moves() -> None:
    values = {"x": [2.0, 3.0]}
    moved = np.exp(5) * np.expm1(5 * U)
    assert bound("y = exp(x[0] + x[1])", **values) == pytest.approx(moved + 4 * U * np.exp(5))
    moved = 5 * U / 5
    assert bound("y = log(x[0] + x[1])", **values) == pytest.approx(moved + 4 * U * np.log(5))
    moved = 5 * U / (2 * sqrt(5))
    assert bound("y = sqrt(x[0] + x[1])", **values) == pytest.approx(moved + 4 * U * sqrt(5))
    assert bound("y = sin(x[0] + x[1])", **values) == pytest.approx(5 * U + 4 * U * abs(np.sin(5)))
    moved = 2 * 5 * 5 * U
    assert bound("y = (x[0] + x[1]) ** 2", **values) == pytest.approx(moved + 4 * U * 25, rel=1e-5)
    assert bound("y = 1 / (x[0] - x[1] + 1)", **values) == inf  # 0, or nearly


def test_whole_numbers_and_conditions_are_exact() -> None:
    whole = {"n": [2, 3]}
    assert bound("y = sum(i, n[i]) * 3 - n[0] // 2 % 2", **whole) == 0
    assert bound("y = n[0] ** 2", **whole) == 0
    assert bound("y[i] = i < 1 and n[i] > 2", (0,), **whole) == 0
    assert bound("y = n[0] / n[1]", **whole) == pytest.approx(2 / 3 * U)
    found = located("y[i] = n[i] > 2", whole, (1,))
    assert rounding(found, np.dtype(bool)) == rounding(found, np.int64) == 0


def test_in_float64_it_is_so_much_less() -> None:
    values = {"x": [2.0, 3.0]}
    fine = bound("y = x[0] + x[1]", dtype=np.float64, **values)
    assert fine == pytest.approx(5 * 2.0**-52)


def test_what_multiplies_a_sum_may_do_so_term_by_term() -> None:
    """Where a probability is nearly 1 our own code multiplies out, and loses what is left of it."""
    logits = np.array([[20.0, 0.0, 1.0, 2.0]], dtype=np.float32)
    targets = np.array([0])
    probs, _, count, _ = cross_entropy.forward(logits, targets, 0.0)
    d_loss = np.float32(0.37)
    d_logits = cross_entropy.backward(d_loss, probs, targets, count, 0.0)
    values = {
        "logits": logits, "targets": targets, "probs": probs, "count": np.array(count),
        "d_loss": np.array(d_loss),
    }  # fmt: skip
    scalars = {"smoothing": 0.0, "vocab_size": 4}
    here = Located(cross_entropy.FORMULAS, "d_logits", (0, 0), values, scalars)
    exact = float(d_loss) * (float(probs[0, 0]) - 1)
    assert abs(d_logits[0, 0] - exact) <= rounding(here, np.float32)


def test_numbers_beyond_float32_have_a_bound_too() -> None:
    """A bound needs few digits, so sums of magnitudes are float32's where that can hold them."""
    sheet = Sheet.parse("y[t,j] = sum(i, x[t,i] * w[i,j])")
    values = {"x": np.full((20, 20), 1e25), "w": np.full((20, 20), 1e25)}
    found = bounded(sheet, "y", values, {}, unit=2.0**-53)
    assert found.error == pytest.approx(np.full((20, 20), 21 * 20 * 1e50 * 2.0**-52), rel=0.1)


def test_the_order_of_a_long_sum_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=50_000).astype(np.float32) for _ in range(2))
    here = located("y = sum(i, x[i] * w[i])", {"x": x, "w": w})
    least = rounding(here, np.float32)
    right = float(here.over(here.body, ()))
    for order in (np.arange(x.size), rng.permutation(x.size), np.argsort(x * w)):
        one_by_one = np.cumsum((x * w)[order], dtype=np.float32)[-1]
        assert abs(float(one_by_one) - right) <= least
    assert least < x.size * U * np.abs(x * w).sum() * 1.01


def cast(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def compiled(case: Case) -> Case:
    """The case with the compiled form of its operation; the formulas are those of the plain one."""
    op = getattr(fast, case.op.__name__.rpartition(".")[2], case.op)
    form = ModuleType(case.op.__name__)
    vars(form).update(FORMULAS=case.op.FORMULAS, forward=op.forward)
    if hasattr(op, "backward"):
        vars(form).update(backward=op.backward)
    return replace(case, op=form)


@pytest.mark.parametrize("form", [lambda case: case, compiled], ids=["plain", "fast"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_our_code_stays_within_it(case: Case, form: Any) -> None:
    rng = np.random.default_rng(7)
    single = replace(case, arrays={name: cast(array) for name, array in case.arrays.items()})
    values = run(form(single), rng)
    sheet = single.sheet
    for name in (*sheet.forward, *sheet.backward):
        array = np.asarray(values[name])
        for _ in range(6 if array.size else 0):
            place = tuple(int(rng.integers(size)) for size in array.shape)
            here = Located(sheet, name, place, values, single.scalars)
            right, stored = float(here.over(here.body, ())), float(array[place])
            allowed = rounding(here, array.dtype)
            assert stored == right or abs(stored - right) <= allowed, (name, place)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("sum(c, q[c] * k[c]) / sqrt(d_k)", "sum(c, q[c] * k[c]) / d_k"),
        ("sum(c, q[c] * k[c]) / sqrt(d_k)", "sum(c, q[c] * k[c] * 1.00001) / sqrt(d_k)"),
        ("exp(q[0] - max(c, q[c]))", "exp(q[0] - max(c, q[c]) - 0.00001)"),
        ("1 / sqrt(mean(c, q[c] ** 2) + eps)", "1 / sqrt(mean(c, q[c] ** 2))"),
    ],
)
def test_a_mistake_is_more_than_rounding(right: str, wrong: str) -> None:
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=8) for name in "qk"}
    scalars = {"d_k": 8, "eps": 1e-5}
    here, other = (located(f"y = {text}", values, **scalars) for text in (right, wrong))
    difference = abs(float(here.over(here.body, ())) - float(other.over(other.body, ())))
    assert difference > 2 * rounding(here, np.float32)


SIZES = {"b": 2, "t": 3, "s": 5, "i": 7, "n": 11}


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("y[t] = x[t]", 0),
        ("y[t] = x[t] + w[t] - x[t]", 2),
        ("y[t] = (x[t] + w[t]) * (x[t] + w[t])", 3),  # factors pass all of theirs on
        ("y[t] = sum(i, x[t,i] * w[i]) + w[t]", 9),
        ("y[t] = mean(i, x[t,i])", 8),
        ("y = sum(b, t, x[b,t])", 6),
        ("y[t] = max(i, x[t,i] * 2)", 1),
        ("y[t] = exp(x[t] - w[t])", 5),
        ("y[t] = x[t] ** 2", 4),
        ("y[t] = 0.5 * x[t]", 2),
        ("y[t] = where(x[t] > 0, x[t] * x[t] * x[t], x[t] * 2)", 2),
        ("y[t] = x[t] * (t // 2 + t % 2)", 1),
        ("y[t] = x[t] / total[t]\ntotal[t] := sum(r, x[t] * w[r])", 7),  # r runs as far as s
        ("y[t] = x[t] * sum(m, w[m])", 12),  # m as far as n
        ("y[t] = x[t] < w[t] and t < 2", 0),
    ],
)
def test_the_longest_chain_is_counted(text: str, right: int) -> None:
    sheet = Sheet.parse(text)
    assert roundings(sheet, sheet["y"], SIZES) == right
