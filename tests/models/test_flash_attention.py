"""Models with attention = flash: the numbers of the full form, by the same weights."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer import tree
from handformer.errors import InputError
from handformer.layers import FlashAttention
from handformer.models import CLASSES, ModelConfig
from handformer.selfcheck.cases.models import ModelCase, models

FLASH = [case for case in models(np.random.default_rng(5)) if "flash" in case.label]


@pytest.mark.parametrize("case", FLASH, ids=lambda case: case.name)
def test_the_same_weights_give_the_same_numbers(case: ModelCase) -> None:
    config = case.model.config
    other = CLASSES[config.family].init(config.model_copy(update={"attention": "full"}))
    full = replace(case, layer=tree.replace(other, tree.flatten(case.model)))
    logits, cache = case.forward()
    right, full_cache = full.forward()
    assert_allclose(logits, right, atol=1e-12)
    d_logits = np.random.default_rng(1).normal(size=logits.shape)
    model: Any = case.layer
    full_model: Any = full.layer
    back = tree.flatten(model.backward(d_logits, cache).params)
    for path, right in tree.flatten(full_model.backward(d_logits, full_cache).params).items():
        assert_allclose(back[path], right, atol=1e-12, err_msg=path)


@pytest.mark.parametrize("case", FLASH, ids=lambda case: case.name)
def test_every_block_has_it(case: ModelCase) -> None:
    model: Any = case.model
    assert all(type(block.attention) is FlashAttention for block in model.blocks)
    _, cache = case.forward()
    assert not [path for path in tree.flatten(cache) if path.endswith(("scores", "attn"))]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": "fast"}, "attention = 'fast': input should be 'full' or 'flash'"),
        ({"dropout": 0.1}, r"dropout = 0\.1 needs attention = full: flash has no dropout"),
        ({"family": "transformer"}, "attention = flash: a transformer's cross-attention has no"),
    ],
)
def test_what_it_does_not_have_is_refused_in_one_line(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ModelConfig.read({"attention": "flash", **settings})
