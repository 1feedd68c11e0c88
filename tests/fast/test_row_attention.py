"""Attention of one query a row equals the plain one: grouped, masked, biased, in a longer room."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.fast import row_attention
from handformer.ops import masked_attention as plain

KEEP = np.array(True)


def drawn(batch: int, n_heads: int, n_kv: int, n_keys: int, d_k: int, dtype: Any) -> dict[str, Any]:
    rng = np.random.default_rng(n_keys)
    room = rng.normal(size=(2, batch, n_kv, n_keys + 7, d_k)).astype(dtype)
    q = rng.normal(size=(batch, 1, n_heads, d_k)).astype(dtype).swapaxes(1, 2)
    mask = rng.random((batch, 1, 1, n_keys)) < 0.8
    return {"q": q, "k": room[0, :, :, :n_keys], "v": room[1, :, :, :n_keys], "mask": mask}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 6, 3, 9, 5), (3, 4, 1, 130, 64)])
@pytest.mark.parametrize("biased", [False, True])
def test_it_is_the_plain_attention(sizes: Any, dtype: Any, biased: bool) -> None:
    given = drawn(*sizes, dtype)
    bias = None
    if biased:
        bias = np.random.default_rng(1).normal(size=(sizes[1], 1, sizes[3])).astype(dtype)
    found = row_attention.forward(**given, bias=bias, rate=0.0)
    assert found is not None
    right = plain.forward(**given, bias=bias, keep=KEEP, rate=0.0)
    for name, value in right._asdict().items():
        mine = getattr(found, name)
        assert (mine.shape, mine.dtype) == (value.shape, value.dtype), name
        assert_allclose(mine, value, rtol=0, atol=1e-12 if dtype == np.float64 else 2e-5)


def test_hidden_keys_weigh_nothing_and_a_row_without_any_is_zero() -> None:
    given = drawn(2, 4, 2, 5, 3, np.float64)
    given["mask"][0], given["mask"][1, ..., 2:] = False, False
    found = row_attention.forward(**given, bias=None, rate=0.0)
    assert found is not None
    assert_array_equal(found.attn[0], 0)
    assert_array_equal(found.context[0], 0)
    assert_array_equal(found.attn[1, ..., 2:], 0)


def test_one_mask_serves_all_rows() -> None:
    given = drawn(3, 4, 2, 5, 3, np.float64)
    given["mask"] = given["mask"][:1]
    found = row_attention.forward(**given, bias=None, rate=0.0)
    assert found is not None
    right = plain.forward(**given, bias=None, keep=KEEP, rate=0.0)
    assert_allclose(found.context, right.context, atol=1e-12)


def test_several_queries_dropout_and_other_dtypes_are_for_others() -> None:
    given = drawn(2, 4, 2, 5, 3, np.float64)
    assert row_attention.forward(**given, bias=None, rate=0.1) is None
    two = {**given, "q": np.concatenate([given["q"]] * 2, axis=2)}
    assert row_attention.forward(**two, bias=None, rate=0.0) is None
    mixed = {**given, "v": given["v"].astype(np.float32)}
    assert row_attention.forward(**mixed, bias=None, rate=0.0) is None
    backwards = {**given, "k": given["k"][..., ::-1]}
    assert row_attention.forward(**backwards, bias=None, rate=0.0) is None
