"""Attention in blocks: the full form's numbers at any size, and memory that grows linearly."""

import tracemalloc
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.axes import Array, BoolArray
from handformer.ops import flash_attention, masked_attention
from handformer.ops.masks import causal, window

Sizes = tuple[int, int, int, int]


class Both(NamedTuple):
    """Every value that the two forms have in common."""

    context: Array
    d_q: Array
    d_k: Array
    d_v: Array


class Drawn(NamedTuple):
    """Inputs, and the gradient that comes in."""

    q: Array
    k: Array
    v: Array
    d_context: Array


def drawn(sizes: Sizes, leading: tuple[int, ...] = (), dtype: Any = np.float64) -> Drawn:
    """Of (heads, key/value heads, queries, keys), four places each."""
    n_heads, n_kv_heads, n_queries, n_keys = sizes
    rng = np.random.default_rng(7)
    heads, kv = (n_heads, n_queries), (n_kv_heads, n_keys)
    return Drawn(
        *(rng.normal(size=(*leading, *n, 4)).astype(dtype) for n in (heads, kv, kv, heads))
    )


def full(given: Drawn, mask: BoolArray) -> Both:
    q, k, v, d_context = given
    keep = np.array(True)
    out = masked_attention.forward(q, k, v, mask, None, keep, 0.0)
    back = masked_attention.backward(d_context, q, k, v, out.attn, out.attn_kept, keep, 0.0)
    return Both(out.context, back.d_q, back.d_k, back.d_v)


def in_blocks(given: Drawn, mask: BoolArray, block: int, op: Any = flash_attention) -> Both:
    q, k, v, d_context = given
    out = op.forward(q, k, v, mask, block)
    back = op.backward(d_context, q, k, v, mask, out.log_total, out.context, block)
    return Both(out.context, back.d_q, back.d_k, back.d_v)


def masks(n_queries: int, n_keys: int) -> dict[str, BoolArray]:
    """Of every kind: some hide whole blocks, some whole rows, some differ from head to head."""
    some = np.random.default_rng(5).random((2, 4, n_queries, n_keys)) < 0.5
    some[0, 1] = False
    some[1, :, n_queries // 2] = False
    valid = np.arange(n_keys) >= np.array([[n_keys // 2], [0]])
    return {
        "everything": np.array(True),
        "nothing": np.array(False),
        "causal": causal.forward(n_queries, n_keys),
        "window": window.forward(n_queries, n_keys, 3),
        "padding": valid[:, None, None, :],
        "gaps": np.arange(n_keys) // 5 % 3 != 1,
        "causal and padding": causal.forward(n_queries, n_keys) & valid[:, None, None, :],
        "any": some,
        "one for all heads": some[:, :1],
    }


# Sizes beside the edges of blocks of 4, and blocks larger than all.
EDGES = [(1, 1), (1, 9), (3, 5), (4, 4), (5, 3), (8, 8), (7, 9), (9, 7), (12, 17)]


@pytest.mark.parametrize("block", [1, 4, 64])
@pytest.mark.parametrize(("n_queries", "n_keys"), EDGES)
def test_the_numbers_are_those_of_the_full_form(n_queries: int, n_keys: int, block: int) -> None:
    for heads in ((4, 4), (4, 2), (4, 1)):
        given = drawn((*heads, n_queries, n_keys), (2,))
        for label, mask in masks(n_queries, n_keys).items():
            found, right = in_blocks(given, mask, block), full(given, mask)
            for name, one, other in zip(Both._fields, found, right, strict=True):
                assert one.shape == other.shape, (label, name)
                assert_allclose(one, other, atol=1e-12, rtol=0, err_msg=f"{label}, {name}")


@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_the_default_block_too(leading: tuple[int, ...]) -> None:
    n = flash_attention.BLOCK + 5
    given, mask = drawn((2, 1, n, n), leading), causal.forward(n, n)
    for one, other in zip(
        in_blocks(given, mask, flash_attention.BLOCK), full(given, mask), strict=True
    ):
        assert_allclose(one, other, atol=1e-12, rtol=0)


def test_two_keys_in_two_blocks_by_hand() -> None:
    """Scores 0 and 1: the second key brings a new maximum."""
    q, k = np.ones((1, 1, 1)), np.array([[[0.0], [1.0]]])
    v = np.array([[[10.0], [20.0]]])
    out = flash_attention.forward(q, k, v, np.array(True), 1)
    assert out.log_total[0, 0] == pytest.approx(log(1 + exp(1)), rel=1e-15)
    weight = exp(1) / (1 + exp(1))
    assert out.context[0, 0, 0] == pytest.approx(10 + 10 * weight, rel=1e-15)
    back = flash_attention.backward(np.ones((1, 1, 1)), q, k, v, np.array(True), *out, 1)
    assert back.d_log_total[0, 0] == -out.context[0, 0, 0]
    assert back.d_v[0, :, 0] == pytest.approx([1 - weight, weight], rel=1e-15)
    slope = weight * (1 - weight) * 10  # of the context along the second score
    assert back.d_k[0, :, 0] == pytest.approx([-slope, slope], rel=1e-14)
    assert back.d_q[0, 0, 0] == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rising", [1, -1])
def test_scores_beyond_the_range_of_exp(dtype: Any, rising: int) -> None:
    """Each block's maximum is higher than the last one's by more than exp can bear; or lower."""
    q, v = np.ones((1, 3, 1), dtype), np.arange(12, dtype=dtype).reshape(1, 12, 1)
    k = (rising * 300 * np.arange(12, dtype=dtype)).reshape(1, 12, 1)
    mask = np.arange(12) < np.array([12, 6, 1])[:, None]
    out = flash_attention.forward(q, k, v, mask, 2)
    top = [11, 5, 0] if rising == 1 else [0, 0, 0]
    assert_allclose(out.context[0, :, 0], top, atol=1e-100)
    assert_allclose(out.log_total[0], rising * 300 * np.array(top))
    back = flash_attention.backward(np.ones_like(q), q, k, v, mask, *out, 2)
    assert all(np.isfinite(part).all() for part in back)
    assert back.d_v.sum() == pytest.approx(3, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_query_that_sees_nothing_gives_nothing_and_sends_nothing(dtype: Any) -> None:
    mask = np.random.default_rng(0).random((2, 4, 9, 9)) < 0.5
    mask[0, :, 2], mask[1, 3] = False, False
    blind = ~mask.any(axis=-1)
    q, k, v, d_context = drawn((4, 2, 9, 9), (2,), dtype)
    q *= 300
    out = flash_attention.forward(q, k, v, mask, 4)
    back = flash_attention.backward(d_context, q, k, v, mask, *out, 4)
    for part in (*out, *back):
        assert part.dtype == dtype
        assert np.isfinite(part).all()
    for part in (out.log_total, out.context, back.d_log_total, back.d_q):
        assert not part[blind].any()
    d_context[~blind] = 0
    unheard = flash_attention.backward(d_context, q, k, v, mask, *out, 4)
    assert not any(part.any() for part in unheard)


def test_log_total_says_what_the_weights_were_divided_by() -> None:
    given, mask = drawn((4, 2, 9, 9)), causal.forward(9, 9)
    out = flash_attention.forward(*given[:3], mask, 4)
    right = masked_attention.forward(*given[:3], mask, None, np.array(True), 0.0)
    weights = np.where(mask, np.exp(right.scores - out.log_total[..., None]), 0)
    assert_allclose(weights, right.attn, atol=1e-14)


def test_what_the_mask_hides_wholly_is_not_computed() -> None:
    """Keys of blocks that nobody sees may hold anything."""
    given, mask = drawn((2, 2, 4, 12)), np.arange(12) < 8
    q, k, v, d_context = given
    right = in_blocks(Drawn(q, k[:, :8], v[:, :8], d_context), np.array(True), 4)
    k[:, 8:], v[:, 8:] = np.nan, np.nan
    found = in_blocks(given, mask, 4)
    assert_array_equal(found.context, right.context)
    assert_array_equal(found.d_k[:, :8], right.d_k)
    assert not found.d_k[:, 8:].any()
    assert not found.d_v[:, 8:].any()


def peak(n: int) -> int:
    """Bytes that both directions hold at most at a context of n, besides what they are given."""
    given, mask = drawn((2, 1, n, n), dtype=np.float32), np.broadcast_to(np.True_, (n, n))
    tracemalloc.start()
    in_blocks(given, mask, 32)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_memory_grows_with_the_context_not_with_its_square() -> None:
    small, large = peak(256), peak(1024)
    assert large < 4.2 * small
    assert large < 1024 * 1024 * 4 / 4  # of what one head's scores would take
