"""Tiny models with weights so large that a wrong position or a visible pad changes every logit."""

import numpy as np

from handformer import tree
from handformer.axes import Array
from handformer.models import CLASSES, Model, ModelConfig
from handformer.randomness import generator

CONTEXT, VOCAB = 6, 11


def loud(family: str, *, context: int = CONTEXT, vocab_size: int = VOCAB, **sizes: int) -> Model:
    """A model in float64, read-only, all its sizes small and different from each other."""
    sizes = {"n_heads": 4, "n_kv_heads": 2, "d_k": 2, "d_model": 10, "d_ff": 7, **sizes}
    config = ModelConfig(family=family, context=context, vocab_size=vocab_size, n_layers=2, **sizes)  # type: ignore[arg-type]
    model = CLASSES[family].init(config, dtype=np.float64)

    def weights(path: str, array: Array) -> Array:
        drawn = generator(3, 0, path).normal(size=array.shape) * (0.8 if array.ndim > 1 else 0.3)
        drawn = drawn + 1 if path.endswith("gamma") else drawn
        drawn.flags.writeable = False
        return drawn

    return tree.transform(model, weights)
