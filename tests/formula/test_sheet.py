"""Sheets: what a line may say, and how sheets are put together from others."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.formula import Formula, FormulaError, Sheet, evaluate, evaluate_all

pytestmark = pytest.mark.smoke

LINEAR = """
    y[b,j]    = sum(i, x[b,i] * w[i,j]) + bias[j]
    d_x[b,i]  = sum(j, d_y[b,j] * w[i,j])
    d_w[i,j]  = sum(b, x[b,i] * d_y[b,j])
    d_bias[j] = sum(b, d_y[b,j])
"""


def test_a_line_is_a_name_with_axes_a_sign_and_an_expression() -> None:
    formula = Formula.parse("attention.top[ b , t ] := max(s, scores[b,t,s]) / d_k")
    assert (formula.name, formula.axes, formula.kept) == ("attention.top", ("b", "t"), False)
    assert (formula.inputs, formula.scalars) == (("scores",), ("d_k",))
    loss = Formula.parse("loss = sum(b, losses[b]) == total")
    assert (loss.axes, loss.kept, loss.scalars) == ((), True, ("total",))


def test_spacing_makes_no_other_formula() -> None:
    assert Formula.parse("y[i]=x[i]*2") == Formula.parse("y[ i ]  =  x[i] * 2")
    assert hash(Formula.parse("y[i]=x[i]*2")) == hash(Formula.parse("y[i] = x[i] * 2"))


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("y[i] + x[i]", 0, "a formula reads name[axes] = expression"),
        ("y[2*i] = x[i]", 0, "a formula reads name[axes] = expression"),
        ("y[i] x = x[i]", 0, "a formula reads name[axes] = expression"),
        ("y[i] == x[i]", 0, "a formula reads name[axes] = expression"),
        ("y[i, k] = x[i]", 5, "k is no letter of the legend"),
        ("y[b t] = x[b,t]", 2, "b t is no letter of the legend"),
        ("y[i, t,i] = x[i]", 7, "i stands there twice"),
        ("y[i] = x[i] = 2", 12, "this can't be read"),
        ("y[i] := x[j]", 10, "index j stands free on the right: nothing runs over it"),
        ("y = sum(i, x[i]) + z[i]", 21, "index i stands free on the right"),
        ("y[t] = x[t] + s", 14, "index s stands free on the right"),
        ("y[i] = sum(i, x[i])", 7, "sum over i, which runs here already"),
        ("y[t] = max(i, sum(j, i, x[i,j]))", 14, "sum over i, which runs here already"),
        ("y = mean(i, i, x[i])", 4, "mean over i, which runs here already"),
        ("y[b] = x[b] * b", 14, "b stands for any number of axes"),
        ("y[b] = x[b + 1]", 9, "b stands for any number of axes"),
        ("y[b] = x[b,b]", 9, "b stands for any number of axes"),
        ("y = x[b]", 6, "index b stands free on the right"),
        ("y[i] = x[table[b],i]", 15, "index b stands free on the right"),
    ],
)
def test_a_wrong_line_is_pointed_at(text: str, column: int, reason: str) -> None:
    with pytest.raises(FormulaError) as caught:
        Formula.parse(text)
    assert caught.value.reason.startswith(reason)
    assert (caught.value.column, caught.value.text) == (column, text)


def test_one_letter_may_run_twice_side_by_side() -> None:
    Formula.parse("y[b] = sum(i, x[b,i]) / max(i, x[b,i])")


def test_a_sheet_is_read_line_by_line_with_comments_and_continued_lines() -> None:
    sheet = Sheet.parse("""
        # what goes in: x[i]
        y[i] = where(x[i] <= 0,    # a comment
                     0,
                     x[i])
             + 1

        top := max(i, y[i])
        d_x[i] = d_y[i]
    """)
    assert [formula.text for formula in sheet] == [
        "y[i] = where(x[i] <= 0, 0, x[i]) + 1",
        "top := max(i, y[i])",
        "d_x[i] = d_y[i]",
    ]
    assert (sheet.forward, sheet.backward) == (("y",), ("d_x",))
    assert "top" in sheet
    assert "x" not in sheet


def test_a_mistake_in_a_continued_line_is_pointed_at_in_the_joined_text() -> None:
    with pytest.raises(FormulaError) as caught:
        Sheet.parse("y[i] = x[i]\n    + z[j]")
    assert caught.value.text[caught.value.column :] == "j]"


def test_an_unknown_name_offers_near_ones() -> None:
    with pytest.raises(KeyError, match="unknown formula d_bais; did you mean d_bias"):
        Sheet.parse(LINEAR)["d_bais"]


def test_a_name_has_one_formula() -> None:
    with pytest.raises(ValueError, match=r"two formulas for y: y = 1 \| y = 2"):
        Sheet.parse("y = 1\ny = 2")
    one, other = Sheet.parse("y = 1\nz = 2"), Sheet.parse("y = 2")
    with pytest.raises(ValueError, match="two formulas for y"):
        one + other
    assert one + Sheet.parse("z=2\nu = 3") == Sheet.parse("y = 1\nz = 2\nu = 3")
    with pytest.raises(ValueError, match="two formulas for y"):
        one.rename(z="y")


def test_formulas_are_chosen_ordered_and_exchanged_by_name() -> None:
    sheet = Sheet.parse(LINEAR)
    assert [formula.name for formula in sheet.only("d_w", "y")] == ["d_w", "y"]
    assert [f.name for f in sheet.order("d_bias d_w y d_x")] == ["d_bias", "d_w", "y", "d_x"]
    for names, odd in (("d_bias d_w y", "d_x"), ("d_x d_w y d_bias z", "z"), ("y y", "d_bias")):
        with pytest.raises(ValueError, match=f"every name of the sheet once; see .*{odd}"):
            sheet.order(names)
    with pytest.raises(ValueError, match="see y"):
        sheet.order("y y d_x d_w d_bias")
    other = Formula.parse("d_w[i,j] = 0")
    assert sheet.replace(other)["d_w"] is other
    assert sheet.replace(other).only("y", "d_x") == sheet.only("y", "d_x")
    with pytest.raises(KeyError, match="unknown formula d_v"):
        sheet.replace(Formula.parse("d_v[i,j] = 0"))


def test_renamed_formulas_mean_the_same() -> None:
    sheet = Sheet.parse(LINEAR)
    renamed = sheet.rename(
        b="b h t", i="c", j="i", x="merge.context", w="w_o", bias="b_o", y="merge.out", d_x="d_back"
    )
    assert [formula.text for formula in renamed] == [
        "merge.out[b,h,t,i] = sum(c, merge.context[b,h,t,c] * w_o[c,i]) + b_o[i]",
        "d_back[b,h,t,c] = sum(i, merge.d_out[b,h,t,i] * w_o[c,i])",
        "d_w_o[c,i] = sum(b, h, t, merge.context[b,h,t,c] * merge.d_out[b,h,t,i])",
        "d_b_o[i] = sum(b, h, t, merge.d_out[b,h,t,i])",
    ]
    rng = np.random.default_rng(0)
    values = {"x": (2, 3, 4, 5), "w": (5, 7), "bias": (7,), "d_y": (2, 3, 4, 7)}
    arrays = {name: rng.normal(size=shape) for name, shape in values.items()}
    new = {"x": "merge.context", "w": "w_o", "bias": "b_o", "d_y": "merge.d_out"}
    found = evaluate_all(renamed, {new[name]: array for name, array in arrays.items()}, {})
    for first, second in zip(evaluate_all(sheet, arrays, {}).values(), found.values(), strict=True):
        assert_array_equal(first, second)


def test_letters_can_change_places_and_leading_axes_can_go() -> None:
    sheet = Sheet.parse(LINEAR)
    swapped = sheet.rename(i="j", j="i").rename(i="f")
    assert swapped["y"].text == "y[b,f] = sum(j, x[b,j] * w[j,f]) + bias[f]"
    alone = sheet.rename(b="")
    assert alone["d_w"].text == "d_w[i,j] = x[i] * d_y[j]"
    assert alone["d_bias"].text == "d_bias[j] = d_y[j]"


def test_a_value_called_like_a_letter_is_renamed_as_a_value() -> None:
    sheet = Sheet.parse("y[j] = sum(m, m[m,j])")
    assert repr(sheet.rename(m="before.m")) == "y[j] = sum(m, before.m[m,j])"
    assert repr(sheet.rename(m="n")) == "y[j] = sum(n, m[n,j])"


def test_a_gradient_is_renamed_with_its_value_and_a_width_is_not() -> None:
    sheet = Sheet.parse("d_x[i] = d_loss * d_k[i] / d_k + k[i] + eps")
    new = sheet.rename(k="key", loss="head.loss", eps="norm_eps")["d_x"]
    assert new.text == "d_x[i] = head.d_loss * d_key[i] / d_k + key[i] + norm_eps"
    wide = sheet.rename(d_k="d_model")["d_x"]
    assert wide.text == "d_x[i] = d_loss * d_model[i] / d_model + k[i] + eps"


@pytest.mark.parametrize(
    ("text", "names", "reason"),
    [
        ("y[i] = sum(j, x[i] * w[j])", {"j": "i"}, "sum over i, which runs here already"),
        ("y[b,t] = x[b,t]", {"b": "b t"}, "t stands there twice"),
        ("y[t] = x[t + 1]", {"t": "t s"}, "t is calculated with: it can only become one letter"),
        ("y[t] = x[t] + t", {"t": ""}, "t is calculated with: it can only become one letter"),
    ],
)
def test_letters_that_would_fall_together_are_refused(
    text: str, names: dict[str, str], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Sheet.parse(text).rename(**names)


def test_absent_arrays_take_their_terms_and_gradients_along() -> None:
    less = Sheet.parse(LINEAR).without("bias")
    assert [formula.name for formula in less] == ["y", "d_x", "d_w"]
    assert less["y"].text == "y[b,j] = sum(i, x[b,i] * w[i,j])"
    assert less.without("nothing") == less
    text = "y[i] = a[i] - (x[i] + 2 * (bias[i] + more)) - more + (bias[i] - c[i] * d_k)"
    (less_y,) = Sheet.parse(text).without("bias", "more")
    assert less_y.text == "y[i] = a[i] - x[i] + (-(c[i] * d_k))"
    assert Sheet.parse("y = d_k + d_loss\nd_loss = 1").without("k")["y"].text == "y = d_k + d_loss"


@pytest.mark.parametrize(
    "text", ["y[i] = 2 * bias[i]", "y[i] = bias[i] - bias[i]", "y = exp(bias)"]
)
def test_only_a_term_can_be_absent(text: str) -> None:
    with pytest.raises(ValueError, match="only a term of a sum can be absent, not so bias"):
        Sheet.parse(text).without("bias")


def test_errors_point_into_the_renamed_text() -> None:
    sheet = Sheet.parse(LINEAR).rename(x="context", w="w_o").without("bias")
    with pytest.raises(FormulaError) as caught:
        evaluate(sheet, "y", {"context": np.ones((2, 3)), "w_o": np.ones((4, 5))}, {})
    assert caught.value.reason == "index i runs over 3 in context and 4 in w_o"
    assert caught.value.text[caught.value.column :] == "i,j])"


def test_a_sheet_shows_itself_as_its_lines() -> None:
    sheet = Sheet.parse("top[b]  := max(i, x[b,i])\ny[b,i]   = x[b,i] - top[b]")
    assert repr(sheet) == "top[b] := max(i, x[b,i])\ny[b,i] = x[b,i] - top[b]"
    assert repr(sheet["y"]) == "y[b,i] = x[b,i] - top[b]"
