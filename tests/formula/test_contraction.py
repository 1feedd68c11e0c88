"""Sums of products that aren't written out are the sums that are."""

from math import prod

import numpy as np
import pytest

from handformer.formula import FormulaError, Sheet, contraction, evaluate
from handformer.formula.frame import Frame
from handformer.formula.rounding import bounded

RNG = np.random.default_rng(5)
X, W = RNG.normal(size=(2, 5, 40)), RNG.normal(size=(40, 30))
IDS = RNG.integers(0, 30, size=(2, 5))
VALUES = {
    "x": X, "w": W, "ids": IDS, "y": RNG.normal(size=(2, 5, 30)),
    "q": RNG.normal(size=(2, 4, 5, 8)),
    "k": RNG.normal(size=(2, 2, 7, 8)), "d": RNG.normal(size=(2, 4, 5, 7)),
}  # fmt: skip
SCALARS = {"d_k": 8, "group": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 30}
TEXTS = [
    "z[b,t,j] = sum(i, x[b,t,i] * w[i,j])",
    "z[b,t,j] = mean(i, -x[b,t,i] * w[i,j] / 3)",
    "z[i,j] = sum(b, t, x[b,t,i] * y[b,t,j]) + w[i,j]",
    "z[b,h,t,s] = sum(c, q[b,h,t,c] * k[b,h // group,s,c]) / sqrt(d_k)",
    "z[n,i] = sum(b, t, where(ids[b,t] == n, x[b,t,i], 0))",
    "z[b,g,s,c] = sum(h, t, where(h // group == g, d[b,h,t,s] * q[b,h,t,c], 0)) / sqrt(d_k)",
    "z[b,t,j] = sum(i, c, x[b,t,i] * w[i,j])",
]


def by_hand(monkeypatch: pytest.MonkeyPatch, text: str, name: str = "z") -> np.ndarray:
    with monkeypatch.context() as patch:
        patch.setattr(contraction, "WORTH", 10**12)
        return evaluate(Sheet.parse(text), name, VALUES, SCALARS)


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_the_same_sum(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "WORTH", 1)
    taken = []
    product = Frame.product

    def noted(self: Frame, *given: object) -> object:
        taken.append(product(self, *given) is not None)  # type: ignore[arg-type]
        return product(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Frame, "product", noted)
    found = evaluate(Sheet.parse(text), "z", VALUES, SCALARS)
    assert any(taken)
    np.testing.assert_allclose(found, by_hand(monkeypatch, text), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", TEXTS)
def test_the_bound_is_that_of_the_sum_written_out(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = {"x": 1e-6, "d": np.full(VALUES["d"].shape, 1e-7)}
    found = []
    for worth in (1, 10**12):
        monkeypatch.setattr(contraction, "WORTH", worth)
        sheet = Sheet.parse(text)
        found.append(bounded(sheet, "z", VALUES, SCALARS, unit=2**-24, errors=errors))
    np.testing.assert_allclose(found[0].value, found[1].value, rtol=1e-12, atol=1e-12)
    # Written out, a product is rounded term by term; together, once for all of them.
    np.testing.assert_allclose(found[0].error, found[1].error, rtol=0.15)
    assert (found[0].error > 0).any()


@pytest.mark.parametrize("text", TEXTS)
def test_the_bound_of_many_is_no_less(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "WORTH", 1)
    sheet, found = Sheet.parse(text), []
    for many in (10**12, 1):
        monkeypatch.setattr("handformer.formula.bounded.MANY", many)
        found.append(bounded(sheet, "z", VALUES, SCALARS, unit=2**-24).error)
    exact, quick = found
    assert (quick >= exact * (1 - 2**-9)).all()  # the magnitudes are summed up in float32
    # By Cauchy and Schwarz, pi / 2 for normal numbers; the least lengths here are of 5 entries.
    assert quick.mean() < 2 * exact.mean()


def test_it_is_taken_where_there_are_two_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "WORTH", 1)
    monkeypatch.setattr("handformer.formula.bounded.MANY", 1)
    sheet = Sheet.parse("z[b,t,j] = sum(i, x[b,t,i] * w[i,j])")
    found = bounded(sheet, "z", VALUES, SCALARS, unit=2**-24).error
    lengths = np.sqrt((X**2).sum(-1))[..., None] * np.sqrt((W**2).sum(0))
    # 40 terms, each of a product that is rounded once; float64's own rounding adds 2**-29 of that.
    np.testing.assert_allclose(found, (40 + 2) * 2**-24 * lengths, rtol=1e-6)


def test_nothing_becomes_of_zero_times_infinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "WORTH", 1)
    x = X.copy()
    x[0, 0] = np.inf
    sheet = Sheet.parse("z[n,i] = sum(b, t, where(ids[b,t] == n, x[b,t,i], 0))")
    found = evaluate(sheet, "z", {"x": x, "ids": IDS}, SCALARS)
    assert np.isinf(found[IDS[0, 0]]).all()
    assert np.isfinite(np.delete(found, IDS[0, 0], axis=0)).all()


def test_a_place_outside_matters_only_where_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction, "WORTH", 1)
    sheet = Sheet.parse("z[b,t,j] = sum(i, where(i < 39, x[b,t,i + 1] * w[i,j], 0))")
    found = evaluate(sheet, "z", VALUES, SCALARS)
    np.testing.assert_allclose(found, X[..., 1:] @ W[:-1], rtol=1e-12)
    with pytest.raises(FormulaError, match="outside x"):
        evaluate(Sheet.parse("z[b,t,j] = sum(i, x[b,t,i + 1] * w[i,j])"), "z", VALUES, SCALARS)


def test_whole_numbers_stay_whole() -> None:
    sheet = Sheet.parse("z[b,t,n] = sum(i, where(i < n, ids[b,t], 0))")
    found = evaluate(sheet, "z", {"ids": IDS, "x": X}, {**SCALARS, "d_model": 500})
    assert found.dtype.kind == "i"


@pytest.mark.parametrize("text", TEXTS)
def test_some_places_of_each_axis(text: str) -> None:
    sheet = Sheet.parse(text)
    whole = evaluate(sheet, "z", VALUES, SCALARS)
    axes = sheet["z"].axes
    at = {letter: [0, whole.shape[axis] - 1] for axis, letter in enumerate(axes)}
    some = evaluate(sheet, "z", VALUES, SCALARS, at=at)
    assert some.size == prod([2] * len(axes))
    places = np.ix_(*at.values())
    np.testing.assert_allclose(some, whole[places], rtol=1e-12, atol=1e-13)
