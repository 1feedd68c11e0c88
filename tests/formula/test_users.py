"""Formulas read backwards: which entries need a given one."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from handformer.formula import Sheet, evaluate
from handformer.formula.users import users
from handformer.selfcheck.cases import all_cases
from handformer.selfcheck.ops import Case, run

CASES = [case for case in all_cases(np.random.default_rng(3)) if not case.label.startswith("large")]
VALUES: dict[str, Any] = {
    "x": np.ones((2, 6)), "w": np.ones((6, 3)), "k": np.ones((2, 2, 3)), "q": np.ones((4, 2, 3)),
    "tokens": np.array([2, 0, 2]), "table": np.ones((4, 5)), "rows": np.ones((3, 5)),
    "m": np.array([[1, 0], [1, 1]]) > 0,
    "scores": np.ones((2, 2)), "d_k": np.ones(3), "loss": np.array(2.0),
}  # fmt: skip


def found(text: str, name: str, *place: int, **scalars: Any) -> list[Any]:
    sheet = Sheet.parse(text)
    return users(sheet, next(iter(sheet)).name, name, place, VALUES, scalars)


@pytest.mark.parametrize(
    ("text", "name", "place", "right"),
    [
        ("y[t,j] = sum(i, x[t,i] * w[i,j])", "x", (1, 4), [(1, None)]),
        ("y[t,j] = sum(i, x[t,i] * w[i,j])", "w", (4, 2), [(None, 2)]),
        ("y[h,c] = x[1,h*d_k + c]", "x", (1, 4), [(1, 1)]),
        ("y[h,c] = x[1,h*d_k + c]", "x", (0, 4), []),  # only row 1 is asked
        ("y[h,t] = sum(c, q[h,t,c] * k[h // 2,t,c])", "k", (1, 0, 2), [(2, 0), (3, 0)]),
        ("y[t,i] = x[t,(i + 3) % 6]", "x", (0, 1), [(0, 4)]),
        ("y[i,j] = w[i // 2,j % 3] * 2", "w", (1, 2), [(2, 2), (2, 5), (3, 2), (3, 5)]),
        ("y[t,i] = table[tokens[t],i]", "table", (2, 4), [(0, 4), (2, 4)]),
        ("y[t,i] = table[tokens[t],i]", "table", (1, 4), []),
        ("y[t,i] = table[tokens[t],i]", "tokens", (1,), [(1, None)]),
        ("d[n,i] = sum(t, where(tokens[t] == n, rows[t,i], 0))", "rows", (0, 3), [(2, 3)]),
        ("y[t,s] = where(m[t,s], scores[t,s], 0)", "scores", (0, 1), []),
        ("y[t,s] = where(m[t,s], scores[t,s], 0)", "scores", (1, 1), [(1, 1)]),
        ("y[t,s] = where(m[t,s], 0, scores[t,s])", "scores", (0, 1), [(0, 1)]),
        ("y[t,s] = where(m[t,s], scores[t,s], 0)", "m", (0, 1), [(0, 1)]),
        ("y[t,s] = scores[t,s] / sum(r, scores[t,r])", "scores", (1, 0), [(1, None)]),
        ("y[t,s] = scores[t,s] - top[t]\ntop[t] := max(r, where(m[t,r], scores[t,r], 0))",
         "scores", (0, 1), [(0, 1)]),
        ("y[t,s] = scores[t,s] - top[t]\ntop[t] := max(r, where(m[t,r], scores[t,r], 0))",
         "scores", (1, 1), [(1, None)]),
        ("y[i] = x[0,i] * loss", "loss", (), [(None,)]),
        ("y[i] = x[0,i] / d_k", "d_k", (1,), []),  # the width, not the gradient of k
        ("y[i] = w[i,i % 3]", "w", (4, 1), [(4,)]),
        ("y[s] = scores[s,s]", "scores", (0, 1), []),  # twice the same letter
        ("y = sum(t, i, x[t,i])", "x", (0, 1), [()]),
    ],
)  # fmt: skip
def test_the_users_of_an_entry(
    text: str, name: str, place: tuple[int, ...], right: list[Any]
) -> None:
    scalars = {"n_heads": 4, "d_k": 3, "d_model": 6, "vocab_size": 4}
    if name == "x" and "h*d_k" in text:
        scalars["n_heads"] = 2
    assert found(text, name, *place, **scalars) == right


def test_leading_axes_have_a_place_each() -> None:
    values = {"x": np.ones((2, 3, 4)), "w": np.ones(4)}
    sheet = Sheet.parse("y[b,i] = x[b,i] * w[i]")
    assert users(sheet, "y", "x", (1, 2, 3), values, {}) == [(1, 2, 3)]
    assert users(sheet, "y", "w", (3,), values, {}) == [(None, None, 3)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_who_moves_when_an_entry_is_moved_is_a_user(case: Case) -> None:
    rng = np.random.default_rng(5)
    values = {name: np.asarray(array) for name, array in run(case, rng).items()}
    for formula in case.sheet:
        if not formula.kept or formula.name not in values:
            continue
        before = evaluate(case.sheet, formula.name, values, case.scalars)
        for name in formula.inputs:
            if name not in values or values[name].dtype.kind != "f" or not values[name].size:
                continue
            place = tuple(int(rng.integers(size)) for size in values[name].shape)
            moved = values[name].copy()
            moved[place] += 0.37
            after = evaluate(case.sheet, formula.name, {**values, name: moved}, case.scalars)
            told = users(case.sheet, formula.name, name, place, values, case.scalars)
            spread = {
                one
                for place in told
                for one in product(
                    *(
                        range(n) if at is None else [at]
                        for at, n in zip(place, before.shape, strict=True)
                    )
                )
            }
            changed = ~((before == after) | (np.isnan(before) & np.isnan(after)))
            assert {tuple(map(int, at)) for at in np.argwhere(changed)} <= spread, (formula, name)
