"""Blocks that a mask hides are left out of the products, and nothing else is."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer import fast, ops
from handformer.axes import Array, BoolArray
from handformer.fast import masked_attention
from handformer.fast.masked_attention import BLOCK


def drawn(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape)


def masks(n: int, s: int) -> dict[str, BoolArray]:
    """Causal ones, one with padding on the left, a window, one that is full, and one at random."""
    rng = np.random.default_rng(1)
    t, keys = np.arange(n)[:, None], np.arange(s)
    causal = keys <= t + s - n
    padded = np.stack([causal, causal & (keys >= 70)])[:, None]
    return {
        "causal": causal,
        "padded": padded,
        "window": causal & (keys > t - 40),
        "everything": np.ones((n, s), np.bool_),
        "nothing": np.zeros((n, s), np.bool_),
        "backwards": keys >= t,
        "some": rng.random((2, 4, n, s)) < 0.01,
    }


@pytest.mark.parametrize("kind", masks(1, 1))
@pytest.mark.parametrize(("n", "s"), [(128, 128), (131, 200), (200, 131), (300, 259)])
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("n_kv_heads", [4, 2])
def test_long_rows_equal_plain(kind: str, n: int, s: int, rate: float, n_kv_heads: int) -> None:
    rng = np.random.default_rng(0)
    q, d_context = drawn(rng, 2, 4, n, 8), drawn(rng, 2, 4, n, 8)
    k, v = drawn(rng, 2, n_kv_heads, s, 8), drawn(rng, 2, n_kv_heads, s, 8)
    shape = (2, 4, n, s)
    mask, keep = np.broadcast_to(masks(n, s)[kind], shape), rng.random(shape) >= rate
    right: Any = ops.masked_attention.forward(q, k, v, mask, None, keep, rate)
    found: Any = fast.masked_attention.forward(q, k, v, mask, None, keep, rate)
    for name in right._fields:
        assert_allclose(getattr(found, name), getattr(right, name), 0, 1e-13, err_msg=name)
    given = (d_context, q, k, v, right.attn, right.attn_kept, keep, rate)
    right, found = ops.masked_attention.backward(*given), fast.masked_attention.backward(*given)
    for name in right._fields:
        assert_allclose(getattr(found, name), getattr(right, name), 0, 1e-12, err_msg=name)


def test_a_causal_mask_saves_products_and_a_full_one_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    product = masked_attention.matmul

    def counted(a: Array, b: Array, out: Array, plus: Array | None = None) -> Array:
        made.append(out.size * a.shape[-1])
        return product(a, b, out, plus)

    monkeypatch.setattr(masked_attention, "matmul", counted)
    n, size = 4 * BLOCK, 8
    q, k, v = drawn(np.random.default_rng(0), 3, 2, n, size)
    keep = np.ones((2, n, n), np.bool_)
    whole = 2 * n * n * size

    def work(mask: BoolArray) -> tuple[float, float]:
        made.clear()
        forward = fast.masked_attention.forward(
            q, k, v, np.broadcast_to(mask, keep.shape), None, keep, 0.0
        )
        after = sum(made)
        fast.masked_attention.backward(q, q, k, v, forward.attn, forward.attn_kept, keep, 0.0)
        return after / whole, (sum(made) - after) / whole

    assert work(np.ones((n, n), np.bool_)) == (2, 4)
    assert work(np.tri(n, dtype=np.bool_)) == (1 + 10 / 16, 1 + 3 * 10 / 16)
