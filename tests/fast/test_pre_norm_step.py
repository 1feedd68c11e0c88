"""A block's step in one kernel equals the plain ops; what it doesn't know it leaves to them."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer import ops as plain
from handformer import tree
from handformer.axes import BoolArray
from handformer.errors import InputError
from handformer.fast import pre_norm_step
from handformer.generate.precision import kept_in
from handformer.layers import Alibi, PreNormBlock, Rotary
from handformer.layers.heads import KeysValues
from handformer.models import Decoder
from tests.generate.loud import loud

BATCH, BEFORE = 3, 4
# The same names as the plain ops, and the step besides.
WITH_STEP: Any = SimpleNamespace(**vars(plain), pre_norm_step=pre_norm_step)


@cache
def block(family: str, weights: str) -> PreNormBlock:
    model = loud(family, d_k=4, d_model=24, d_ff=20, n_heads=6, n_kv_heads=3)
    assert isinstance(model, Decoder)
    if weights == "float64":  # laid out as kept_in would
        rows = kept_in(model, "float32")
        return _wide(rows.blocks[0], model.blocks[0])
    return kept_in(model, weights).blocks[0]


def _wide(laid_out: Any, like: Any) -> Any:
    arrays = tree.flatten(like)
    return tree.transform(
        laid_out, lambda path, a: arrays[path].astype(np.float64, order="F" if a.ndim > 1 else "C")
    )


def given(dtype: Any) -> tuple[Any, KeysValues, BoolArray, Any]:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(BATCH, 1, 24)).astype(dtype)
    past = KeysValues(*rng.normal(size=(2, BATCH, 3, BEFORE, 4)).astype(dtype))
    mask = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 0, 0, 1]], bool)[:, None]
    return x, past, mask, np.array([[4], [3], [0]])


@pytest.mark.parametrize(
    ("family", "weights"),
    [
        ("llama", "float64"),
        ("gpt2", "float64"),
        ("llama", "float32"),
        ("llama", "bfloat16"),
        ("gpt2", "float16"),
    ],
)
def test_it_is_the_block_s_step(family: str, weights: str) -> None:
    layer = block(family, weights)
    x, past, mask, positions = given(np.float64 if weights == "float64" else np.float32)
    x.flags.writeable = False
    done = pre_norm_step.forward(layer, x, past, mask, positions)
    assert done is not None
    out, after = done
    right, right_after = layer.extend(x, past, mask=mask, positions=positions, ops=plain)
    scale = float(np.abs(right).max())
    atol = 1e-12 if weights == "float64" else 1e-5 * scale
    assert (out.dtype, out.shape) == (x.dtype, right.shape)
    assert_allclose(out, right, rtol=0, atol=atol)
    assert_allclose(after.k, right_after.k, rtol=0, atol=atol)
    assert_allclose(after.v, right_after.v, rtol=0, atol=atol)
    assert past.k.shape[-2] == BEFORE
    again, _ = layer.extend(x, past, mask=mask, positions=positions, ops=WITH_STEP)
    assert_array_equal(again, out)


def test_rows_are_as_they_would_be_alone() -> None:
    layer = block("llama", "float32")
    x, past, mask, positions = given(np.float32)
    out, _ = pre_norm_step.forward(layer, x, past, mask, positions) or (x, past)
    for row in range(BATCH):
        one = slice(row, row + 1)
        alone = KeysValues(past.k[one], past.v[one])
        done = pre_norm_step.forward(layer, x[one], alone, mask[one], positions[one])
        assert done is not None
        assert_array_equal(done[0], out[one])


def test_what_it_does_not_know_is_left_to_the_ops() -> None:
    layer = block("llama", "float32")
    x, past, mask, positions = given(np.float32)
    attention = layer.attention
    for other in (
        replace(layer, attention=replace(attention, position=Alibi())),
        replace(layer, attention=replace(attention, position=Rotary(pairs="rotary_interleaved"))),
        replace(layer, mlp=replace(layer.mlp, activation="geglu")),
        replace(layer, attention=replace(attention, w_q=attention.w_q.copy(order="C"))),
        replace(layer, attention=replace(attention, w_v=attention.w_v.astype(np.float64))),
    ):
        assert pre_norm_step.forward(other, x, past, mask, positions) is None
        found, _ = other.extend(x, past, mask=mask, positions=positions, ops=WITH_STEP)
        right, _ = other.extend(x, past, mask=mask, positions=positions)
        assert_array_equal(found, right)
    two = np.concatenate([x, x], axis=1)
    assert pre_norm_step.forward(layer, two, past, mask, positions) is None
    assert pre_norm_step.forward(layer, x, None, mask, positions) is None
    assert pre_norm_step.forward(layer, x, past, None, positions) is None
    with pytest.raises(InputError, match="expected bool"):
        layer.extend(x, past, mask=mask.astype(float), positions=positions, ops=WITH_STEP)
    assert pre_norm_step.forward(layer, x.astype(np.float64), past, mask, positions) is None
