"""Attention with masks, grouped heads, bias and dropout: by hand, by what must hold, by twins."""

from math import exp, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.axes import Array, BoolArray
from handformer.ops import (
    alibi,
    attention,
    drops,
    linear,
    masked_attention,
    merge_heads,
    project_heads,
)
from handformer.ops.masks import causal
from handformer.selfcheck.ops import Case
from tests.ops.mistakes import difference

ALL = np.array(True)


class Inputs(NamedTuple):
    """What attention takes; what isn't said is neutral."""

    q: Array
    k: Array
    v: Array
    mask: BoolArray
    bias: Array | None = None
    keep: BoolArray = ALL
    rate: float = 0.0

    def forward(self) -> masked_attention.Forward:
        return masked_attention.forward(
            self.q, self.k, self.v, self.mask, self.bias, self.keep, self.rate
        )

    def backward(self, d_context: Array) -> masked_attention.Backward:
        out = self.forward()
        return masked_attention.backward(
            d_context, self.q, self.k, self.v, out.attn, out.attn_kept, self.keep, self.rate
        )


def drawn(
    mask: BoolArray, dtype: type = np.float64, heads: tuple[int, int] = (4, 2), rate: float = 0.0
) -> tuple[Inputs, Array]:
    """Inputs of two rows of width 6 for a mask (t, s) or more, and a d_context."""
    rng = np.random.default_rng(3)
    n_queries, n_keys = mask.shape[-2:]
    shapes = [(2, heads[0], n_queries, 6), *2 * [(2, heads[1], n_keys, 6)]]
    q, k, v = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    keep = rng.random((2, heads[0], n_queries, n_keys)) >= rate
    d_context = rng.normal(size=q.shape).astype(dtype)
    return Inputs(q, k, v, mask, keep=keep, rate=rate), d_context


def test_the_worked_example_of_one_head() -> None:
    x = np.eye(2)[None]
    out = Inputs(x, x, x, ALL).forward()
    assert_allclose(out.scores[0], [[0.7071, 0], [0, 0.7071]], atol=5e-5)
    assert_allclose(out.attn[0], [[0.66976, 0.33024], [0.33024, 0.66976]], atol=5e-6)
    assert out.attn_kept is out.attn
    assert_array_equal(out.context, out.attn)
    causal_out = Inputs(x, x, x, causal.forward(2, 2)).forward()
    assert_array_equal(causal_out.scores, out.scores)  # kept as they are before the mask
    assert_array_equal(causal_out.attn[0, 0], [1, 0])
    assert_array_equal(causal_out.attn[0, 1], out.attn[0, 1])


def test_heads_read_their_group_by_hand() -> None:
    q = np.zeros((4, 1, 2))
    v = np.array([[[0.0, 0.5]], [[1.0, 1.5]]])  # key/value head g holds g and g + 0.5
    inputs = Inputs(q, 0 * v, v, ALL)
    assert inputs.forward().context[:, 0, 0].tolist() == [0, 0, 1, 1]
    d_context = np.array([1.0, 2.0, 3.0, 4.0])[:, None, None] * np.ones(2)
    assert inputs.backward(d_context).d_v[:, 0, 0].tolist() == [1 + 2, 3 + 4]


def test_grouped_heads_equal_repeated_keys_and_values() -> None:
    grouped, d_context = drawn(causal.forward(3, 5), heads=(6, 2))
    repeated = Inputs(
        grouped.q, *(np.repeat(part, 3, axis=1) for part in (grouped.k, grouped.v)), grouped.mask
    )
    for one, other in zip(grouped.forward(), repeated.forward(), strict=True):
        assert_allclose(one, other, atol=1e-14)
    back, each = grouped.backward(d_context), repeated.backward(d_context)
    assert_allclose(back.d_q, each.d_q, atol=1e-14)
    for one, other in ((back.d_k, each.d_k), (back.d_v, each.d_v)):
        assert_allclose(one, other.reshape(2, 2, 3, 5, 6).sum(axis=2), atol=1e-14)


def test_one_head_with_its_projections_is_plain_attention() -> None:
    rng = np.random.default_rng(0)
    x, d_out = rng.normal(size=(2, 3, 5, 7))
    w_q, w_k, w_v = rng.normal(size=(3, 7, 4))
    w_o, seen = rng.normal(size=(4, 7)), np.ones((1, 5, 5), dtype=bool)
    q, k, v = (project_heads.forward(x, w, None, 1) for w in (w_q, w_k, w_v))
    out = masked_attention.forward(q, k, v, seen, None, seen, 0.0)
    plain = attention.forward(x @ w_q, x @ w_k, x @ w_v)
    y = merge_heads.forward(out.context, w_o, None)
    assert_allclose(y, linear.forward(plain.context, w_o, None), atol=1e-13)
    d_context = merge_heads.backward(d_out, out.context, w_o, None).d_x
    back = masked_attention.backward(d_context, q, k, v, out.attn, out.attn_kept, seen, 0.0)
    plain_back = attention.backward(d_out @ w_o.T, x @ w_q, x @ w_k, x @ w_v, plain.attn)
    assert_allclose(out.scores[:, 0], plain.scores, atol=1e-13)
    for name in ("d_attn", "d_scores", "d_q", "d_k", "d_v"):
        assert_allclose(getattr(back, name)[:, 0], getattr(plain_back, name), atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_sum_to_one_or_nothing_and_hidden_entries_are_zero(dtype: type) -> None:
    mask = np.random.default_rng(0).random((2, 4, 5, 7)) < 0.5
    mask[0, :, 2], mask[1, 3] = False, False  # a query, and a whole head, that see nothing
    inputs, d_context = drawn(mask, dtype, rate=0.1)
    out, back = inputs.forward(), inputs.backward(d_context)
    assert all(np.isfinite(value).all() and value.dtype == dtype for value in (*out, *back))
    sums, eps = mask.any(axis=-1), np.finfo(dtype).eps
    assert_allclose(out.attn.sum(axis=-1), sums, atol=4 * eps)
    assert_allclose(back.d_scores.sum(axis=-1), 0 * sums, atol=40 * eps)
    for value in (out.attn, out.attn_kept, back.d_scores):
        assert not value[~mask].any()
    for value in (out.context, back.d_q):
        assert not value[~sums].any()
    unseen = Inputs(inputs.q, inputs.k, inputs.v, np.zeros_like(mask))
    empty = unseen.backward(d_context)
    assert not any(part.any() for part in (empty.d_scores, empty.d_q, empty.d_k, empty.d_v))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_later_key_changes_no_earlier_row_and_hears_nothing_from_it(dtype: type) -> None:
    inputs, d_context = drawn(causal.forward(9, 9), dtype, rate=0.1)
    k, v = inputs.k.copy(), inputs.v.copy()
    k[:, :, 6], v[:, :, 6] = 50, -50
    changed = Inputs(inputs.q, k, v, inputs.mask, keep=inputs.keep, rate=inputs.rate)
    out, other = inputs.forward(), changed.forward()
    for name in ("attn", "attn_kept", "context"):
        one, two = getattr(out, name), getattr(other, name)
        assert_array_equal(one[:, :, :6], two[:, :, :6])
        assert np.abs(one[:, :, 6:] - two[:, :, 6:]).max() > 0.1
    early = np.where(np.arange(9)[:, None] < 6, d_context, 0).astype(dtype)
    back = inputs.backward(early)
    for value in (back.d_k, back.d_v):
        assert not value[:, :, 6:].any()
        assert value[:, :, :6].any()


def test_the_last_queries_over_all_keys_equal_the_end_of_the_whole() -> None:
    whole, _ = drawn(causal.forward(5, 5))
    last = Inputs(whole.q[:, :, 3:], whole.k, whole.v, causal.forward(2, 5))
    assert_allclose(last.forward().context, whole.forward().context[:, :, 3:], atol=1e-14)


def test_a_bias_comes_before_the_softmax_by_hand() -> None:
    q = np.zeros((2, 1, 4))
    v = np.array([[1.0, 0], [0, 1], [5, 5]]).repeat(2, axis=1)[None]
    mask = np.array([True, True, False])
    bias = alibi.forward(1, 3, 2, np.float64).bias + np.array(
        [0, 0, 99]
    )  # no bias makes a hidden key seen
    out = Inputs(q, 0 * v, v, mask, bias).forward()
    for head, slope in enumerate((1 / 16, 1 / 256)):
        far = exp(-slope) / (1 + exp(-slope))
        assert_allclose(out.attn[head, 0], [far, 1 - far, 0], rtol=1e-14)
    assert_array_equal(out.scores, bias)


def test_dropout_takes_weights_away_after_the_softmax_by_hand() -> None:
    q, k = np.zeros((1, 1, 2)), np.zeros((1, 4, 2))
    v = np.array([[[8.0, 0], [4, 0], [0, 4], [0, 8]]])
    keep = np.array([False, True, True, True])
    inputs = Inputs(q, k, v, ALL, keep=keep, rate=0.1)
    out = inputs.forward()
    assert_array_equal(out.attn, np.full((1, 1, 4), 0.25))
    assert_allclose(out.attn_kept[0, 0], [0, 0.25 / 0.9, 0.25 / 0.9, 0.25 / 0.9], rtol=1e-15)
    assert_allclose(out.context[0, 0], [1 / 0.9, 3 / 0.9], rtol=1e-15)
    back = inputs.backward(np.array([[[0.9, 0.0]]]))
    assert_allclose(back.d_attn_kept[0, 0], [7.2, 3.6, 0, 0], rtol=1e-15)
    assert_allclose(back.d_attn[0, 0], [0, 4, 0, 0], rtol=1e-15)
    assert_allclose(back.d_scores[0, 0], [-0.25, 0.75, -0.25, -0.25], rtol=1e-15)
    assert_allclose(back.d_v[0, :, 0], [0, 0.25, 0.25, 0.25], rtol=1e-15)


@pytest.mark.parametrize("shift", [-300.0, 300.0])
def test_scores_beyond_the_range_of_exp(shift: float) -> None:
    inputs, _ = drawn(causal.forward(5, 5), np.float32)
    bias = np.full((4, 5, 5), shift, dtype=np.float32)
    moved = Inputs(inputs.q, inputs.k, inputs.v, inputs.mask, bias).forward()
    assert_allclose(moved.attn, inputs.forward().attn, atol=1e-4)
    sharp = Inputs(400 * inputs.q, inputs.k, inputs.v, inputs.mask).forward()
    assert np.abs(sharp.scores).max() > 100
    assert_allclose(sharp.attn.sum(axis=-1), np.ones((2, 4, 5)), atol=1e-6)


def test_masks_are_broadcast() -> None:
    inputs, d_context = drawn(causal.forward(3, 5), rate=0.1)
    keep = drops.RandomDropout(seed=1, step=2).keep((3, 5), 0.3)
    small = Inputs(inputs.q, inputs.k, inputs.v, inputs.mask, keep=keep, rate=0.3)
    full = (np.broadcast_to(part, (2, 4, 3, 5)) for part in (inputs.mask, keep))
    mask, keep = full
    large = Inputs(inputs.q, inputs.k, inputs.v, mask, keep=keep, rate=0.3)
    for one, other in zip(
        (*small.forward(), *small.backward(d_context)),
        (*large.forward(), *large.backward(d_context)),
        strict=True,
    ):
        assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("scores", "sum(c, q[b,h,t,c] * k[b,h // group,s,c]) / sqrt(d_model) + bias[h,t,s]"),
        ("scores", "sum(c, q[b,h,t,c] * k[b,h // group,s,c]) + bias[h,t,s]"),
        ("scores", "sum(c, q[b,h,t,c] * k[b,h // group,s,c]) / d_k + bias[h,t,s]"),
        ("scores", "(sum(c, q[b,h,t,c] * k[b,h // group,s,c]) + bias[h,t,s]) / sqrt(d_k)"),
        ("scores", "sum(c, q[b,h,t,c] * k[b,h % 2,s,c]) / sqrt(d_k) + bias[h,t,s]"),
        ("scores", "sum(c, q[b,h,t,c] * k[b,h // group,s,c]) / sqrt(d_k)"),
        ("total", "sum(r, exp(scores[b,h,t,r] - top[b,h,t]))"),
        ("total", "sum(r, where(mask[b,h,t,r], exp(scores[b,h,t,r] - top[b,h,t]), 1))"),
        ("attn", "where(mask[b,h,t,s], 0, exp(scores[b,h,t,s] - top[b,h,t]) / total[b,h,t])"),
        ("attn_kept", "where(keep[b,h,t,s], attn[b,h,t,s] / rate, 0)"),
        ("attn_kept", "where(keep[b,h,t,s], attn[b,h,t,s], 0)"),
        ("attn_kept", "attn[b,h,t,s]"),
        ("context", "sum(s, attn_kept[b,h,t,s] * k[b,h // group,s,c])"),
        ("context", "sum(s, attn_kept[b,h,t,s] * v[b,h % 2,s,c])"),
        ("context", "sum(s, attn[b,h,t,s] * v[b,h // group,s,c])"),
        ("d_attn", "where(keep[b,h,t,s], d_attn_kept[b,h,t,s], 0)"),
        ("d_attn", "d_attn_kept[b,h,t,s] / (1 - rate)"),
        ("d_scores", "attn[b,h,t,s] * (1 - attn[b,h,t,s]) * d_attn[b,h,t,s]"),
        ("d_scores", "attn[b,h,t,s] * d_attn[b,h,t,s]"),
        ("d_scores", "attn[b,h,t,s] * (d_attn[b,h,t,s] - sum(r, d_attn[b,h,t,r]))"),
        ("d_scores", "d_attn[b,h,t,s]"),
        ("d_q", "sum(s, d_scores[b,h,t,s] * k[b,h // group,s,c])"),
        ("d_q", "sum(s, d_scores[b,h,t,s] * k[b,h // group,s,c]) / d_k"),
        ("d_k", "sum(h, t, where(h == g, d_scores[b,h,t,s] * q[b,h,t,c], 0)) / sqrt(d_k)"),
        ("d_k", "sum(h, t, where(h % 2 == g, d_scores[b,h,t,s] * q[b,h,t,c], 0)) / sqrt(d_k)"),
        ("d_v", "sum(h, t, where(h // group == g, attn[b,h,t,s] * d_context[b,h,t,c], 0))"),
        ("d_v", "sum(h, t, where(h == 2 * g, attn_kept[b,h,t,s] * d_context[b,h,t,c], 0))"),
    ],
)
def test_known_mistakes_are_seen(value: str, wrong: str) -> None:
    mask = np.random.default_rng(0).random((2, 4, 3, 5)) < 0.7
    mask[0, 1, 1] = False
    inputs, _ = drawn(mask, rate=0.1)
    arrays = {name: getattr(inputs, name) for name in ("q", "k", "v", "mask", "keep")}
    arrays["bias"] = np.random.default_rng(1).normal(size=(4, 3, 5))
    scalars = {"rate": 0.1, "d_k": 6, "group": 2, "n_kv_heads": 2, "d_model": 24}
    case = Case(masked_attention, arrays, scalars)
    axes = ",".join(case.sheet[value].axes)
    assert difference(case, f"{value}[{axes}] = {wrong}") > 0.05


def test_the_scale_keeps_the_variance_of_scores_at_one() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 3, 64, 64))
    scores = Inputs(q, k, k, ALL).forward().scores
    assert scores.std() == pytest.approx(1, abs=0.05)
    assert_allclose(scores, q @ k.swapaxes(-1, -2) / sqrt(64), atol=1e-13)
