"""Heads: which numbers of the width belong to which head, on the way in and on the way out."""

from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.ops import linear, merge_heads, project_heads
from handformer.selfcheck.ops import Case
from tests.ops.mistakes import difference

HEADS, QUERIES, D_K = 3, 2, 2
WIDTH = HEADS * D_K


@pytest.mark.smoke
def test_split_by_hand() -> None:
    x = np.array([[0.0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15]])  # 10 t + place
    bias = 100 * np.arange(6.0)
    y = project_heads.forward(x, np.eye(6), None, HEADS)
    assert_array_equal(y, [[[0, 1], [10, 11]], [[2, 3], [12, 13]], [[4, 5], [14, 15]]])
    y = project_heads.forward(0 * x, np.eye(6), bias, HEADS)
    assert_array_equal(y[:, 0], [[0, 100], [200, 300], [400, 500]])
    back = project_heads.backward(y, x, np.eye(6), bias)
    assert_array_equal(back.d_x, [bias, bias])
    assert_array_equal(back.d_bias, 2 * bias)


@pytest.mark.smoke
def test_merge_by_hand() -> None:
    h, t, c = np.ogrid[:HEADS, :QUERIES, :D_K]
    context = (100 * h + 10 * t + c).astype(float)
    y = merge_heads.forward(context, np.eye(WIDTH), None)
    assert_array_equal(y, [[0, 1, 100, 101, 200, 201], [10, 11, 110, 111, 210, 211]])
    back = merge_heads.backward(y, context, np.eye(WIDTH), None)
    assert_array_equal(back.d_x, context)
    assert back.d_bias is None


def test_a_head_is_the_linear_map_of_its_own_columns() -> None:
    rng = np.random.default_rng(0)
    x, w, bias = rng.normal(size=(2, 5, 7)), rng.normal(size=(7, 12)), rng.normal(size=12)
    d_y = rng.normal(size=(2, 4, 5, 3))
    y, back = project_heads.forward(x, w, bias, 4), project_heads.backward(d_y, x, w, bias)
    d_x = np.zeros_like(x)
    for head in range(4):
        own = slice(3 * head, 3 * head + 3)
        assert_allclose(y[:, head], linear.forward(x, w[:, own], bias[own]), atol=1e-13)
        alone = linear.backward(d_y[:, head], x, w[:, own], bias[own])
        assert_allclose(back.d_w[:, own], alone.d_w, atol=1e-13)
        d_x += alone.d_x
    assert_allclose(back.d_x, d_x, atol=1e-13)


def test_merging_adds_up_what_each_head_sends_through_its_own_rows() -> None:
    rng = np.random.default_rng(0)
    context, w, bias = rng.normal(size=(2, 4, 5, 3)), rng.normal(size=(12, 7)), rng.normal(size=7)
    parts = [context[:, h] @ w[3 * h : 3 * h + 3] for h in range(4)]
    assert_allclose(merge_heads.forward(context, w, bias), sum(parts) + bias, atol=1e-13)


@pytest.mark.parametrize(
    ("op", "wrong"),
    [
        # the heads' axis fastest; reshaped without a swap; one small map for all heads
        (project_heads, "y[b,h,t,c] = sum(i, x[b,t,i] * w[i,c*n_heads + h])"),
        (
            project_heads,
            "y[b,h,t,c] = sum(i, x[b,(h*5 + t) // 4,i] * w[i,((h*5 + t) % 4)*d_k + c])",
        ),
        (project_heads, "y[b,h,t,c] = sum(i, x[b,t,i] * w[i,0*h + c])"),
        (project_heads, "d_w[i,j] = sum(b, t, x[b,t,i] * d_y[b,j % n_heads,t,j // n_heads])"),
        (merge_heads, "y[b,t,j] = sum(h, c, x[b,h,t,c] * w[c*n_heads + h,j])"),
        (
            merge_heads,
            "y[b,t,j] = sum(h, c, x[b,(t*4 + h) // 5,(t*4 + h) % 5,c] * w[h*d_k + c,j])",
        ),
        (merge_heads, "y[b,t,j] = sum(h, c, x[b,h,t,c] * w[0*h + c,j]) / n_heads"),
        (merge_heads, "d_x[b,h,t,c] = sum(j, d_y[b,t,j] * w[c*n_heads + h,j])"),
    ],
)
def test_known_mistakes_are_seen(op: ModuleType, wrong: str) -> None:
    rng = np.random.default_rng(1)
    wide, heads = rng.normal(size=(2, 5, 7)), rng.normal(size=(2, 4, 5, 3))
    if op is project_heads:
        arrays = {"x": wide, "w": rng.normal(size=(7, 12))}
    else:
        arrays = {"x": heads, "w": rng.normal(size=(12, 7))}
    case = Case(op, arrays, {"n_heads": 4, "d_k": 3})
    assert difference(case, wrong) > 0.1
