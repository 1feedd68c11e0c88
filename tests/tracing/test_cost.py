"""Shapes and operations that are easily counted by hand."""

from typing import Any

import numpy as np
import pytest

from handformer.formula import FormulaError, Sheet
from handformer.ops import embedding, layer_norm, linear, masked_attention, project_heads, softmax
from handformer.tracing.cost import Work, mentioned, work


def shaped(**shapes: tuple[int, ...]) -> dict[str, Any]:
    return {name: np.empty(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("formula", "flops"),
    [
        ("y[t,i] = x[t,i]", 0),
        ("y[t,i] = -x[t,i]", 6),
        ("y[t,i] = x[t,i] + 1", 6),
        ("y[t,i] = exp(x[t,i]) ** 2", 12),
        ("y[t,i] = x[t,i] / sqrt(2 * pi)", 6),  # a number without an array is there already
        ("y[t,i] = x[t,(i + 1) % 3] * x[t,i]", 6),  # so is a place
        ("y[t] = sum(i, x[t,i])", 4),  # two additions for each of two
        ("y[t] = mean(i, x[t,i])", 6),
        ("y[t] = max(i, x[t,i])", 4),
        ("y[t,i] = x[t,i] - mean(j, x[t,j])", 12),  # the mean of a row is worked out once
        ("y[t,s] = sum(i, x[t,i] * x[s,i])", 20),  # four places, three products, two additions
        ("y[t,i] = where(x[t,i] > 0, x[t,i] * 2, x[t,i] * 2 + 1)", 18),  # the dearer way
        ("y[t,i] = where(i > 0, x[t,i], 0)", 0),
    ],
)
def test_operations_are_counted_where_they_happen(formula: str, flops: int) -> None:
    sheet = Sheet.parse(formula)
    assert work(sheet, "y", shaped(x=(2, 3)), {}).flops == flops


def test_a_linear_map_is_a_product_and_a_sum_an_entry() -> None:
    arrays = shaped(x=(2, 3, 5), w=(5, 7), bias=(7,), d_y=(2, 3, 7))
    rows, wide = 2 * 3, 5 * 7
    assert work(linear.FORMULAS, "y", arrays, {}) == Work((2, 3, 7), 2 * rows * wide)
    assert work(linear.FORMULAS, "d_x", arrays, {}) == Work((2, 3, 5), rows * (2 * wide - 5))
    assert work(linear.FORMULAS, "d_w", arrays, {}) == Work((5, 7), wide * (2 * rows - 1))
    assert work(linear.FORMULAS, "d_bias", arrays, {}) == Work((7,), 7 * (rows - 1))


def test_abbreviations_are_worked_out_once_and_a_row_at_a_time() -> None:
    rows, n = 2 * 3, 5
    top, total, y = rows * (n - 1), rows * (3 * n - 1), rows * n * 3
    assert work(softmax.FORMULAS, "y", shaped(x=(2, 3, 5)), {}).flops == top + total + y


def test_an_abbreviation_without_axes_is_worked_out_too() -> None:
    sheet = Sheet.parse("top := max(i, x[i])\ny[i] = x[i] - top")
    assert work(sheet, "y", shaped(x=(3,)), {}) == Work((3,), 2 + 3)


def test_a_kept_value_is_not_worked_out_again() -> None:
    arrays = shaped(x=(4, 3), mean=(4,), rstd=(4,))
    assert work(layer_norm.FORMULAS, "x_hat", arrays, {}) == Work((4, 3), 2 * 12)


def test_heads_that_share_a_key_add_up_once_each() -> None:
    arrays = shaped(d_scores=(2, 6, 5, 7), q=(2, 6, 5, 4), d_k=(2, 3, 7, 4))
    products = 2 * 6 * 5 * 7 * 4
    found = work(masked_attention.FORMULAS, "d_k", arrays, {"d_k": 4, "group": 2})
    assert found == Work((2, 3, 7, 4), 2 * products)  # the scaling makes up for the first terms


def test_a_table_gathers_the_rows_that_occur() -> None:
    arrays = shaped(tokens=(40,), d_y=(40, 3), d_table=(9, 3))
    found = work(embedding.FORMULAS, "d_table", arrays, {"scale": 1})
    assert found == Work((9, 3), 40 * 3)


def test_the_configs_numbers_tell_what_no_array_does() -> None:
    arrays = shaped(x=(2, 5, 6), w=(6, 12))
    sheet = project_heads.FORMULAS.without("bias")
    assert work(sheet, "y", arrays, {"n_heads": 3, "d_k": 4}).shape == (2, 3, 5, 4)
    with pytest.raises(FormulaError, match="nothing tells how far c runs"):
        work(sheet, "y", arrays, {"n_heads": 3})


def test_an_abbreviation_mentions_what_stands_behind_it() -> None:
    sheet = Sheet.parse("a[t] := x[t] * z[t]\nb[t] := a[t] + x[t]\ny[t] = b[t] * w[t]")
    assert mentioned(sheet, sheet["y"]) == ("x", "z", "w")


def test_a_width_is_no_gradient() -> None:
    sheet = Sheet.parse("d_q[t,c] = sum(s, d_scores[t,s] * k[s,c]) / sqrt(d_k)")
    assert mentioned(sheet, sheet["d_q"]) == ("d_scores", "k")
