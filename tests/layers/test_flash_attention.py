"""Attention that keeps no scores, as a layer: the full one's numbers from the same weights."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer import tree
from handformer.axes import Array
from handformer.errors import InputError
from handformer.layers import Alibi, FlashAttention, MultiHeadAttention, Rotary
from handformer.layers.flash_attention import FlashCache
from handformer.ops import masks
from handformer.selfcheck.cases.layers import GROUPED, TURNED, lively

D_MODEL, N = 7, 11


def both(settings: dict[str, Any]) -> tuple[FlashAttention, MultiHeadAttention, Array, Array]:
    """Two layers of the same weights, an input and a gradient."""
    rng = np.random.default_rng(2)
    flash = lively(FlashAttention.init(D_MODEL, rng=rng, **settings), rng)
    full = MultiHeadAttention(*(getattr(flash, field.name) for field in fields(flash)))
    return flash, full, *rng.normal(size=(2, 3, N, D_MODEL))


every_kind = pytest.mark.parametrize(
    "settings", [GROUPED, {**TURNED, "position": Rotary()}], ids=["grouped", "rotary"]
)


@every_kind
@pytest.mark.parametrize("hidden", [True, False])
def test_the_numbers_are_the_full_layers(settings: dict[str, Any], hidden: bool) -> None:
    flash, full, x, d_out = both(settings)
    mask = masks.causal.forward(N, N) if hidden else None
    out, cache = flash.forward(x, mask=mask)
    full_out, full_cache = full.forward(x, mask=mask)
    assert_allclose(out, full_out, atol=1e-12)
    back, full_back = flash.backward(d_out, cache), full.backward(d_out, full_cache)
    found, right = tree.gradients(back), tree.gradients(full_back)
    assert found.keys() - right.keys() == {"d_log_total"}
    assert right.keys() - found.keys() == {"d_attn", "d_attn_kept", "d_scores"}
    for name in found.keys() & right.keys():
        assert_allclose(found[name], right[name], atol=1e-12, err_msg=name)


@every_kind
@pytest.mark.parametrize("pieces", [(N,), (4, 1, 6), (1,) * N])
def test_extend_in_any_pieces_equals_forward(
    settings: dict[str, Any], pieces: tuple[int, ...]
) -> None:
    flash, _, x, _ = both(settings)
    whole = masks.causal.forward(N, N)
    right, cache = flash.forward(x, mask=whole)
    past, start = None, 0
    for n in pieces:
        new = slice(start, start + n)
        out, past = flash.extend(x[:, new], past, mask=whole[new, : start + n])
        assert_allclose(out, right[:, new], atol=1e-12)
        start += n
    assert past is not None
    assert_allclose(past.k, cache.k if cache.k_rot is None else cache.k_rot, atol=1e-12)


def test_no_array_of_its_record_has_both_queries_and_keys() -> None:
    flash, _, x, d_out = both(GROUPED)
    out, cache = flash.forward(x, mask=masks.causal.forward(N, N))
    assert isinstance(cache, FlashCache)
    found = {**tree.flatten(cache), **tree.gradients(flash.backward(d_out, cache))}
    assert [path for path, a in found.items() if a.shape.count(N) > 1] == ["mask"]
    assert cache.mask.strides[:2] == (0, 0)  # a view of the one that was given
    assert out.shape == x.shape


def test_its_formulas_are_the_full_layers_with_another_core() -> None:
    for settings in (GROUPED, {**TURNED, "position": Rotary()}):
        flash, full, _, _ = both(settings)
        own = {str(formula) for formula in flash.sheet} - {str(formula) for formula in full.sheet}
        assert {line.split("[")[0] for line in own} >= {"log_total", "context", "d_log_total"}
        names = [formula.name for formula in flash.sheet]
        assert names.index("context") < names.index("out") < names.index("d_x")
        assert not {"attn_kept", "d_attn_kept"} & {*names}


def test_what_it_does_not_have_is_refused_in_one_line() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"dropout = 0.1: flash attention has none"):
        FlashAttention.init(8, 2, rng, dropout=0.1)
    with pytest.raises(InputError, match="flash attention has no ALiBi"):
        FlashAttention.init(8, 2, rng, position=Alibi())
