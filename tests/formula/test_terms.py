"""What an entry is the sum of: every term with what multiplies it, and all that is left out."""

from typing import Any

import numpy as np
import pytest

from handformer.formula import Sheet
from handformer.formula.located import Located
from handformer.formula.render import plain
from handformer.formula.terms import Terms, terms
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.ops import Case, run

CASES = all_cases(np.random.default_rng(3))
X = np.array([[1.0, -6.0, 2.0], [0.5, 4.0, -3.0]])


def taken_apart(text: str, place: tuple[int, ...], most: int = 9, **scalars: Any) -> Terms:
    sheet = Sheet.parse(text)
    values = {"x": X, "w": np.array([2.0, 1.0, 0.0]), "m": X > 0, "tokens": np.array([2, 0, 2])}
    return terms(Located(sheet, next(iter(sheet)).name, place, values, scalars), most)


@pytest.mark.parametrize(
    ("text", "place", "right"),
    [
        ("y[t] = sum(i, x[t,i] * w[i])", (0,), {"x[0,1] * w[1]": -6, "x[0,0] * w[0]": 2}),
        ("y[t] = sum(i, x[t,i]) / 2", (0,),
         {"x[0,1] / 2": -3, "x[0,2] / 2": 1, "x[0,0] / 2": 0.5}),
        ("y[t] = mean(i, x[t,i])", (0,),
         {"x[0,1] / 3": -2, "x[0,2] / 3": 2 / 3, "x[0,0] / 3": 1 / 3}),
        ("y[t] = x[t,0] + x[t,1]", (1,), {"x[1,1]": 4, "x[1,0]": 0.5}),
        ("y[t] = w[0] * (x[t,0] - sum(i, x[t,i] * w[i]))", (1,),
         {"w[0] * (-(x[1,1] * w[1]))": -8, "w[0] * x[1,0]": 1, "w[0] * (-(x[1,0] * w[0]))": -2}),
        ("y[t,i] = (x[t,i] - w[i]) * w[0]", (0, 0), {"(x[0,0] - w[0]) * w[0]": -2}),
        ("y[t] = exp(sum(i, x[t,i]))", (0,), {"exp(x[0,0] + x[0,1] + x[0,2])": np.exp(-3)}),
        ("y[t] = where(t > 0, sum(i, x[t,i]), x[t,0])", (0,), {"x[0,0]": 1}),
        ("y[t] = -where(t > 0, x[t,0] + x[t,1], 0)", (1,), {"-x[1,1]": -4, "-x[1,0]": -0.5}),
        ("y[t] = sum(i, where(m[t,i], x[t,i], 0))", (0,), {"x[0,2]": 2, "x[0,0]": 1}),
        ("y[n] = sum(j, where(tokens[j] == n, x[0,j], 0))", (2,), {"x[0,2]": 2, "x[0,0]": 1}),
        ("y[t] = sum(i, x[t,i] - w[i])", (0,),
         {"x[0,1] - w[1]": -7, "x[0,2] - w[2]": 2, "x[0,0] - w[0]": -1}),
        ("y[t] = sum(i, x[t,i] * sum(j, w[j]))", (0,),
         {"x[0,1] * w[0]": -12, "x[0,1] * w[1]": -6, "x[0,2] * w[0]": 4, "x[0,0] * w[0]": 2,
          "x[0,2] * w[1]": 2, "x[0,0] * w[1]": 1}),
        ("y[t] = part[t] * 2\npart[t] := sum(i, x[t,i])", (0,), {"part[0] * 2": -6}),
    ],
)  # fmt: skip
def test_the_terms_add_up_to_the_entry(
    text: str, place: tuple[int, ...], right: dict[str, float]
) -> None:
    found = taken_apart(text, place, vocab_size=3)
    told = {plain(term.node): term.value for term in found.greatest}
    assert told == pytest.approx(right)
    assert [abs(value) for value in told.values()] == sorted(map(abs, told.values()), reverse=True)
    assert found.rest == 0
    weight = sum(map(abs, right.values()))
    assert [term.share for term in found.greatest] == pytest.approx(
        [abs(term.value) / weight for term in found.greatest]
    )


def test_the_greatest_stand_alone_and_the_others_together() -> None:
    found = taken_apart("y = sum(t, i, x[t,i] * w[i])", (), most=2)
    assert [plain(term.node) for term in found.greatest] == ["x[0,1] * w[1]", "x[1,1] * w[1]"]
    assert (found.others, found.rest) == (4, 3)  # two of them are 0
    assert [term.letters for term in found.greatest] == [
        {"t": (0,), "i": (1,)},
        {"t": (1,), "i": (1,)},
    ]
    assert plain(found.greatest[0].pattern) == "x[t,i] * w[i]"
    assert found.greatest[0].share == 6 / 13


def test_where_all_terms_are_0_none_is_told() -> None:
    found = taken_apart("y = sum(i, x[0,i] * 0)", ())
    assert (found.greatest, found.others, found.rest) == ((), 3, 0)
    (alone,) = taken_apart("y = x[0,0] * 0", ()).greatest
    assert (alone.value, alone.share) == (0, 0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_operation_s_terms_add_up(case: Case) -> None:
    rng = np.random.default_rng(7)
    values = run(case, rng)
    for formula in case.sheet:
        if formula.name in values and np.asarray(values[formula.name]).size:
            place = tuple(int(rng.integers(n)) for n in np.shape(values[formula.name]))
            here = Located(case.sheet, formula.name, place, values, case.scalars)
            right = float(here.over(here.body, ()))
            found = terms(here, 2)
            if np.isfinite(right):
                total = sum(term.value for term in found.greatest) + found.rest
                assert total == pytest.approx(right, rel=1e-12, abs=1e-13), formula
