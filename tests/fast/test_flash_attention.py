"""Attention in blocks, compiled: the plain numbers where several blocks meet, and its memory."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.fast import flash_attention as fast
from handformer.fast.memory import Arena, reuse
from handformer.ops import flash_attention as plain
from handformer.ops.masks import causal
from handformer.selfcheck.cases import cast
from handformer.selfcheck.ops import Case, run
from tests.fast.test_all_ops import explained, results
from tests.ops.test_flash_attention import drawn, in_blocks, masks

BLOCK = 16


def cases(n_queries: int, n_keys: int) -> list[Case]:
    """Of every kind of mask, with grouped heads."""
    rng = np.random.default_rng(3)
    scalars = {"d_k": 20, "group": 2, "n_kv_heads": 2, "block": BLOCK}
    arrays = {
        "q": rng.normal(size=(2, 4, n_queries, 20)),
        "k": rng.normal(size=(2, 2, n_keys, 20)),
        "v": rng.normal(size=(2, 2, n_keys, 20)),
    }
    every = masks(n_queries, n_keys).items()
    return [Case(plain, {**arrays, "mask": mask}, scalars, label) for label, mask in every]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_queries", "n_keys"),
    [
        (BLOCK, BLOCK),
        (BLOCK - 1, BLOCK + 1),
        (fast.TALL * BLOCK, fast.WIDE * BLOCK),  # all that meet at once
        (fast.TALL * BLOCK + 1, fast.WIDE * BLOCK + 1),  # and one more of each
        (3, 8 * BLOCK - 1),
        (5 * BLOCK + 5, 5 * BLOCK + 5),
    ],
)
def test_fast_equals_plain(n_queries: int, n_keys: int, dtype: Any) -> None:
    for case in cases(n_queries, n_keys):
        case = cast(case, dtype)  # noqa: PLW2901
        given = run(case, np.random.default_rng(1))
        right, allowed = explained(case, given)
        found = results(fast, case, given)
        for name, value in right.items():
            assert found[name].dtype == dtype
            wrong = np.abs(found[name] - value) > allowed[name]
            assert not wrong.any(), (case.label, name)


def test_the_default_block_too() -> None:
    given, mask = drawn((2, 1, 400, 700), (2,)), causal.forward(400, 700)
    found, right = (in_blocks(given, mask, plain.BLOCK, op) for op in (fast, plain))
    for one, other in zip(found, right, strict=True):
        assert_allclose(one, other, atol=1e-12, rtol=0)


@pytest.mark.parametrize("rising", [1, -1])
def test_scores_beyond_the_range_of_exp(rising: int) -> None:
    q, v = np.ones((1, 20, 1), np.float32), np.arange(90, dtype=np.float32).reshape(1, 90, 1)
    k = rising * 300 * v
    mask = np.arange(90) < np.arange(1, 81, 4)[:, None]
    out = fast.forward(q, k, v, mask, BLOCK)
    top = np.arange(0, 80, 4) if rising == 1 else np.zeros(20)
    assert_array_equal(out.context[0, :, 0], top)
    assert_array_equal(out.log_total[0], rising * 300 * top)
    back = fast.backward(np.ones_like(q), q, k, v, mask, *out, BLOCK)
    assert all(np.isfinite(part).all() for part in back)
    assert back.d_v.sum() == 20


def test_what_a_mask_hides_weighs_exactly_nothing() -> None:
    q, k, v, d_context = drawn((4, 2, 60, 60), (2,), np.float32)
    out = fast.forward(q, k, v, causal.forward(60, 60), BLOCK)
    later = np.arange(60) > 40
    k[..., later, :], v[..., later, :] = 30, -30
    changed = fast.forward(q, k, v, causal.forward(60, 60), BLOCK)
    assert_array_equal(changed.context[..., ~later, :], out.context[..., ~later, :])
    d_context[..., later, :] = 0
    back = fast.backward(d_context, q, k, v, causal.forward(60, 60), *changed, BLOCK)
    assert not back.d_k[..., later, :].any()
    assert not back.d_v[..., later, :].any()


def test_it_gives_the_same_bits_again_in_memory_used_before() -> None:
    given, mask, arena = drawn((4, 2, 70, 70), (2,), np.float32), causal.forward(70, 70), Arena()
    once = in_blocks(given, mask, BLOCK, fast)
    for _ in range(2):
        with reuse(arena):
            again = in_blocks(given, mask, BLOCK, fast)
            for one, other in zip(once, again, strict=True):
                assert_array_equal(one, other)


def held(n: int) -> int:
    """Bytes of an arena that both directions fill at a context of n."""
    given, mask, arena = drawn((2, 1, n, n), dtype=np.float32), np.array(True), Arena()
    with reuse(arena):
        in_blocks(given, mask, 32, fast)
    return arena.nbytes


def test_memory_grows_with_the_context_not_with_its_square() -> None:
    room = 4 * 2 * fast.TALL * 32 * (fast.WIDE * 32 + 4 + 1)  # of one block, whatever the context
    assert held(2048) - room <= 1.02 * 4 * (held(512) - room)
    assert held(2048) < 2048 * 2048 * 4 / 8  # of what one head's scores would take
