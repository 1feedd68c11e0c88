"""One entry in its arithmetic: what is written out, and that it comes to the entry's value."""

import tracemalloc
from fractions import Fraction
from math import exp, inf, prod
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer.formula import Formula, FormulaError, Sheet, evaluate, expand
from handformer.formula.expand import Expansion
from handformer.formula.expression import Entry, Number, Rest, walk
from handformer.formula.render import latex, mathml, plain
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.ops import Case, run

CASES = all_cases(np.random.default_rng(3))
SOFTMAX = Sheet.parse("""
    top[b]   := max(i, x[b,i])
    total[b] := sum(i, exp(x[b,i] - top[b]))
    y[b,j]    = exp(x[b,j] - top[b]) / total[b]
    d_x[b,j]  = y[b,j] * (d_y[b,j] - sum(i, d_y[b,i] * y[b,i]))
""")


def one(text: str, place: tuple[int, ...], values: dict[str, Any], **scalars: Any) -> Expansion:
    formula = Formula.parse(text)
    arrays = {name: np.asarray(array) for name, array in values.items()}
    return expand(Sheet((formula,)), formula.name, place, arrays, scalars)


def test_the_worked_example_of_a_softmax() -> None:
    x = np.array([[0.5, 0.0], [0.0, 0.5]])
    found = expand(SOFTMAX, "y", (1, 0), {"x": x}, {})
    assert plain(found.symbols) == "exp(x[1,0] - top[1]) / total[1]"
    assert plain(found.numbers, 4) == "exp(0 - 0.5) / 1.607"
    assert found.value == pytest.approx(exp(-0.5) / (1 + exp(-0.5)), rel=1e-15)
    assert found.parents == (
        ("x", (1, 0), 0.0),
        ("top", (1,), 0.5),
        ("total", (1,), pytest.approx(1 + exp(-0.5))),
    )
    total = expand(SOFTMAX, "total", (1,), {"x": x}, {})
    assert plain(total.symbols) == "exp(x[1,0] - top[1]) + exp(x[1,1] - top[1])"
    assert [parent[:2] for parent in total.parents] == [("x", (1, 0)), ("top", (1,)), ("x", (1, 1))]
    top = expand(SOFTMAX, "top", (1,), {"x": x}, {})
    assert (plain(top.numbers), top.value) == ("max(0.0, 0.5)", 0.5)


def test_sums_choices_and_places_are_written_out() -> None:
    x = np.arange(12.0).reshape(3, 4)
    text = "y[t] = sum(s, where(s < t, 2 * mean(c, x[s,c]) * s, 0))"
    found = one(text, (2,), {"x": x[:, :2]}, n_queries=3)
    means = "2 * ((x[0,0] + x[0,1]) / 2) * 0 + 2 * ((x[1,0] + x[1,1]) / 2) * 1 + 0"
    assert plain(found.symbols) == means
    assert found.value == 2 * 4.5
    split = one("q[h,c] = x[1,h*d_k + c] - (h + 1)", (1, 0), {"x": x}, n_heads=2, d_k=2)
    assert plain(split.symbols) == "x[1,2] - (1 + 1)"
    assert split.value == 4
    looked = one("y[b] = w[ids[b]]", (0,), {"w": x[0], "ids": [3, 1, 2]})
    assert (plain(looked.symbols), looked.parents) == ("w[3]", (("w", (3,), 3.0),))


def test_leading_axes_have_a_place_each_also_where_they_are_run_over() -> None:
    x = np.arange(12.0).reshape(2, 3, 2)
    assert plain(one("y[b,i] = x[b,i] * 2", (1, 2, 0), {"x": x}).symbols) == "x[1,2,0] * 2"
    total = one("y[i] = sum(b, x[b,i])", (1,), {"x": x[:, :2]})
    assert plain(total.symbols) == "x[0,0,1] + x[0,1,1] + x[1,0,1] + x[1,1,1]"
    assert plain(one("y[b,i] = x[b,i]", (1,), {"x": x[0, 0]}).symbols) == "x[1]"


def test_a_sum_of_one_term_or_none_is_no_sum() -> None:
    single = one("y[t] = sum(i, x[t,i])", (1,), {"x": np.ones((2, 1))}).symbols
    assert single == Entry("x", (Number(1), Number(0)))
    nothing = {"x": np.ones((2, 0))}
    assert one("y[t] = sum(i, x[t,i])", (1,), nothing).value == 0
    assert one("y[t] = max(i, x[t,i])", (1,), nothing).value == -inf
    assert np.isnan(one("y[t] = mean(i, x[t,i])", (1,), nothing).value)


def test_numbers_of_every_kind_are_put_in() -> None:
    third = np.array([Fraction(1, 3), Fraction(1, 7)])
    found = one("y = sum(i, x[i]) / 2 - exp(x[0])", (), {"x": third})
    assert plain(found.numbers) == "(1/3 + 1/7) / 2 - exp(1/3)"
    assert found.value == pytest.approx(5 / 21 - exp(1 / 3))
    values = {"m": np.array([True, False]), "loss": np.array(2.0), "x": np.float32([0.1, 0.2])}
    found = one("y[i] = -m[i] + loss * pi - x[i] // eps", (0,), values, eps=np.float64(0.5))
    numbers = "-true + 2.0 * 3.141592653589793 - 0.10000000149011612 // 0.5"
    assert plain(found.numbers) == numbers
    assert found.value == pytest.approx(-1 + 2 * np.pi)


@pytest.mark.parametrize("place", [(), (0,), (0, 0, 0), (2, 0), (0, 3), (-1, 0)])
def test_a_place_that_is_not_there_is_an_error(place: tuple[int, ...]) -> None:
    with pytest.raises(IndexError, match=r"y\[t,i\] has the shape \(2, 3\): there is no place"):
        one("y[t,i] = x[t,i] * 2", place, {"x": np.ones((2, 3))})


def test_places_outside_and_unknown_names_are_pointed_at() -> None:
    with pytest.raises(FormulaError, match=r"there is no place \(-1,\) in x of the shape \(3,\)"):
        one("y[t] = x[t - 1]", (0,), {"x": np.ones(3)}, n_queries=3)
    with pytest.raises(FormulaError, match="unknown name z; there are x, y"):
        one("y[t] = x[t] * z", (0,), {"x": np.ones(3)})


def test_the_greatest_terms_are_written_out_and_the_rest_is_one_number() -> None:
    x = np.array([[1.0, -6.0, 2.0, 0.5, -3.0, 4.0]])
    values = {"x": x, "w": np.ones(6)}
    sheet = Sheet.parse("""
        y[b] = 1 / sum(i, x[b,i] * w[i]) + mean(i, x[b,i])
        z[b] = max(i, x[b,i])
    """)
    found = expand(sheet, "y", (0,), values, {}, terms=2)
    written = "x[0,1] * w[1] + x[0,5] * w[5] + (4 more: 0.5)"
    assert plain(found.symbols) == f"1 / ({written}) + (x[0,1] + x[0,5] + (4 more: 0.5)) / 6"
    assert [parent[:2] for parent in found.parents] == [
        ("x", (0, 1)), ("w", (1,)), ("x", (0, 5)), ("w", (5,)),
    ]  # fmt: skip
    assert found.value == 1 / -1.5 - 1.5 / 6
    top = expand(sheet, "z", (0,), values, {}, terms=2)
    assert plain(top.symbols) == "max(x[0,2], x[0,5], (4 more: 1.0))"
    assert top.value == 4
    rest = expand(sheet, "z", (0,), values, {}, terms=0)
    assert (plain(rest.symbols), rest.value, rest.parents) == ("(6 more: 4.0)", 4, ())
    assert expand(sheet, "y", (0,), values, {}, terms=6) == expand(sheet, "y", (0,), values, {})


def test_a_sum_over_a_vocabulary_is_no_burden() -> None:
    rng = np.random.default_rng(0)
    values: dict[str, Any] = {name: rng.normal(size=(2, 50_000)) for name in ("x", "d_y")}
    values["y"] = evaluate(SOFTMAX, "y", values, {})
    found = expand(SOFTMAX, "d_x", (1, 49_999), values, {}, terms=3)
    right = evaluate(SOFTMAX, "d_x", values, {})[1, 49_999]
    assert found.value == pytest.approx(right, rel=1e-12)
    assert len(found.parents) == 2 + 2 * 3
    assert "(49997 more: " in plain(found.symbols)
    longer = {name: array[:, :2000] for name, array in values.items()}
    whole = expand(SOFTMAX, "d_x", (0, 0), longer, {})
    assert plain(whole.numbers).count(" * ") == 2001
    assert latex(whole.numbers).count(r"\cdot") > 2000
    assert mathml(whole.symbols).count("<mo>+</mo>") == 1999


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_expansion_comes_to_the_value_of_the_entry(case: Case) -> None:
    rng = np.random.default_rng(7)
    values = run(case, rng)
    for formula in case.sheet:
        right = evaluate(case.sheet, formula.name, values, case.scalars)
        for _ in range(2 if prod(right.shape) else 0):
            place = tuple(int(rng.integers(size)) for size in right.shape)
            for terms in (None, 2):
                found = expand(case.sheet, formula.name, place, values, case.scalars, terms=terms)
                assert_allclose(found.value, right[place], rtol=1e-12, atol=1e-13)
                left_out = any(isinstance(node, Rest) for node in walk(found.symbols))
                assert not (left_out and terms is None)
                for name, where, number in found.parents:
                    assert name not in values or values[name][where] == number


def test_of_a_cut_sum_no_term_that_is_0_is_written_out() -> None:
    values = {"x": np.array([0.0, 3.0, 0.0, -1.0]), "w": np.zeros(4)}
    found = one("y = sum(i, x[i])", (), values)
    assert plain(found.symbols) == "x[0] + x[1] + x[2] + x[3]"  # all of them fit
    sheet = Sheet.parse("y = sum(i, x[i]) + sum(i, w[i])")
    found = expand(sheet, "y", (), values, {}, terms=3)
    assert plain(found.symbols) == "x[1] + x[3] + (2 more: 0.0) + (4 more: 0.0)"
    found = expand(Sheet.parse("y = max(i, x[i])"), "y", (), values, {}, terms=3)
    assert plain(found.symbols) == "max(x[0], x[1], x[2], (1 more: -1.0))"


def test_one_entry_of_a_large_table_costs_no_copy_of_it() -> None:
    table = np.broadcast_to(np.float32(0.5), (100_000, 100_000))  # 40 GB, were it written out
    values = {"table": table, "tokens": np.array([3, 99_999]), "d_y": np.ones(100_000, np.float32)}
    tracemalloc.start()
    try:
        looked_up = one("y[t,i] = 2 * table[tokens[t],i]", (1, 7), values)
        summed = expand(
            Sheet.parse("d_x[i] = sum(n, d_y[n] * table[n,i])"), "d_x", (7,), values, {}, terms=3
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (looked_up.value, summed.value) == (1, 50_000)
    assert peak < 50e6


class _Asked(dict[str, Any]):
    """Values that remember which of them were taken out."""

    taken: set[str]

    def __getitem__(self, name: str) -> Any:
        self.taken.add(name)
        return super().__getitem__(name)


def test_only_what_a_formula_mentions_is_taken_out() -> None:
    values = _Asked(x=np.ones((2, 3)), y=np.ones((2, 3)), d_y=np.ones((2, 3)))
    values.taken = set()
    assert expand(SOFTMAX, "y", (1, 0), values, {}).value == pytest.approx(1 / 3)
    assert "d_y" not in values.taken
