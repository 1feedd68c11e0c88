"""A model without numbers has the parts of the real one."""

from typing import Any

import numpy as np
import pytest

from handformer import tree
from handformer.models import CLASSES, ModelConfig
from handformer.tracing.outline import outline
from handformer.tracing.shapes import Shapes

CONFIGS: list[dict[str, Any]] = [
    {"family": "gpt2"},
    {"family": "gpt2", "tied": False, "d_ff": 13},
    {"family": "llama", "n_kv_heads": 2},
    {"family": "bert"},
    {"family": "transformer", "source_vocab_size": 9},
    {"family": "transformer", "shared": True},
]


@pytest.mark.parametrize("settings", CONFIGS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_its_parts_are_those_of_a_model_with_numbers(settings: dict[str, Any], dtype: Any) -> None:
    config = ModelConfig(n_layers=2, n_heads=4, d_model=24, vocab_size=7, **settings)
    real, found = (
        CLASSES[config.family].init(config, dtype=dtype),
        outline(config, Shapes({}), dtype),
    )
    assert type(found) is type(real)
    assert [(path, type(part)) for path, part in tree.walk(found)] == [
        (path, type(part)) for path, part in tree.walk(real)
    ]
    for path, weight in tree.flatten(real).items():
        other = tree.flatten(found)[path]
        assert (other.shape, other.dtype) == (weight.shape, weight.dtype), path


def test_what_it_makes_leaves_init_as_it_was() -> None:
    config = ModelConfig(n_layers=1, n_heads=2, d_model=8, vocab_size=7)
    outline(config, Shapes({}), np.float32)
    assert np.ptp(CLASSES["gpt2"].init(config).embedding.table) > 0
