"""No sequences, or no tokens: the results of plain, of the same shapes."""

from typing import Any

import numpy as np
import pytest

from handformer import fast, ops, tree
from handformer.models import CLASSES, ModelConfig


@pytest.mark.parametrize("attention", ["full", "flash"])
@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
def test_nothing_in_gives_what_plain_gives(
    family: Any, attention: Any, shape: tuple[int, int]
) -> None:
    config = ModelConfig(
        family=family, vocab_size=11, context=8, n_layers=1, n_heads=2, d_model=8,
        attention=attention,
    )  # fmt: skip
    model: Any = CLASSES[family].init(config)

    def shapes(namespace: Any) -> dict[str, tuple[int, ...]]:
        logits, cache = model.forward(np.zeros(shape, dtype=np.int64), ops=namespace)
        back = model.backward(np.zeros_like(logits), cache, ops=namespace)
        values = {**tree.flatten(cache), **tree.gradients(back)}
        return {path: array.shape for path, array in values.items()}

    assert shapes(fast) == shapes(ops)
