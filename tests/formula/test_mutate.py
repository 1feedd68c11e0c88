"""Mutations: each is another formula, and together they are the mistakes that people make."""

from handformer.formula import Formula
from handformer.formula.mutate import mutations
from tests.formula.project import every_place


def wrong(text: str, **sizes: str) -> dict[str, str]:
    """The right sides of all mutations by what was done."""
    formula = Formula.parse(f"y[i] = {text}")
    found = list(mutations(formula, sizes=tuple(sizes)))
    assert len({mutation.formula.text for mutation in found}) == len(found)
    return {f"{m.kind}: {m.what}": m.formula.text.partition(" = ")[2] for m in found}


def test_sums() -> None:
    assert wrong("a - x[i]") == {
        "swapped sign: + before x[i]": "a + x[i]",
        "dropped term: without the term x[i]": "a",
        "dropped term: without the term a": "-x[i]",
        "wrong factor: twice a - x[i]": "2 * (a - x[i])",
        "wrong factor: twice a": "2 * a - x[i]",
        "wrong factor: twice x[i]": "a - 2 * x[i]",
    }
    assert wrong("0 + x[i]") == {
        "swapped sign: - before x[i]": "0 - x[i]",
        "dropped term: without the term x[i]": "0",
        "dropped term: without the term 0": "x[i]",
        "wrong factor: twice 0 + x[i]": "2 * (0 + x[i])",
        "wrong factor: twice x[i]": "0 + 2 * x[i]",
    }


def test_products_quotients_powers_and_sizes() -> None:
    assert wrong("x[i] * w / sqrt(d_k)", d_k="", d_model="", d_ff="") == {
        "wrong factor: twice x[i] * w / sqrt(d_k)": "2 * (x[i] * w / sqrt(d_k))",
        "wrong factor: not divided by sqrt(d_k)": "x[i] * w",
        "wrong factor: times sqrt(d_k), not divided by it": "x[i] * w * sqrt(d_k)",
        "wrong factor: without the factor x[i]": "w / sqrt(d_k)",
        "wrong factor: without the factor w": "x[i] / sqrt(d_k)",
        "wrong factor: twice d_k": "x[i] * w / sqrt(2 * d_k)",
        "wrong size: d_model, not d_k": "x[i] * w / sqrt(d_model)",
        "wrong size: d_ff, not d_k": "x[i] * w / sqrt(d_ff)",
    }
    assert wrong("-x[i] ** 3") == {
        "swapped sign: without the minus before x[i] ** 3": "x[i] ** 3",
        "wrong factor: twice -x[i] ** 3": "2 * (-x[i] ** 3)",
        "wrong factor: twice 3": "-x[i] ** (2 * 3)",
    }


def test_conditions_and_cases() -> None:
    assert wrong("i <= d and valid[i]") == {
        "dropped term: without the condition valid[i]": "i <= d",
        "dropped term: without the condition i <= d": "valid[i]",
        "wrong boundary: i < d, not i <= d": "i < d and valid[i]",
    }
    assert wrong("where(i == 2, x[i], -inf)") == {
        "wrong factor: twice where(i == 2, x[i], -inf)": "2 * where(i == 2, x[i], -inf)",
        "swapped cases: -inf, not x[i], if i == 2": "where(i == 2, -inf, x[i])",
        "wrong boundary: i != 2, not i == 2": "where(i != 2, x[i], -inf)",
        "wrong factor: twice x[i]": "where(i == 2, 2 * x[i], -inf)",
        "swapped sign: without the minus before inf": "where(i == 2, x[i], inf)",
    }


def test_means_and_the_places_of_an_entry_which_stay() -> None:
    assert wrong("mean(j, x[i + 1,j])") == {
        "wrong factor: twice mean(j, x[i + 1,j])": "2 * mean(j, x[i + 1,j])",
        "wrong factor: the sum, not the mean, of x[i + 1,j]": "sum(j, x[i + 1,j])",
    }


@every_place
def test_every_formula_has_mutations_that_differ_from_it(formulas: list[Formula]) -> None:
    for formula in formulas:
        found = list(mutations(formula, sizes=("d_k", "d_model")))
        assert all(mutation.formula != formula for mutation in found)
        sides = {(m.formula.name, m.formula.axes, m.formula.kept) for m in found}
        assert sides <= {(formula.name, formula.axes, formula.kept)}
        assert found or formula.text.startswith("mask")
