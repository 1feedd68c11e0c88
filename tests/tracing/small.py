"""Small models of every family, and a trace of each."""

from functools import cache

import numpy as np

import handformer as hand
from handformer.models import CLASSES, Model, ModelConfig
from handformer.tracing.trace import Trace

FAMILIES = ("gpt2", "llama", "bert", "transformer")
TOKENS = [[1, 2, 3, 2, 5], [3, 4, 5]]
SOURCE = [[3, 4, 5, 6], [1, 2]]


def model(family: str, **settings: object) -> Model:
    sizes = {"d_model": 12, "n_layers": 2, "n_heads": 3, "d_ff": 20, "vocab_size": 11, "context": 8}
    if family == "llama":
        sizes |= {"n_kv_heads": 1}
    config = ModelConfig.read({"family": family, **sizes, **settings})
    return CLASSES[family].init(config, seed=3)  # type: ignore[no-any-return]


@cache
def traced(family: str, dtype: str = "float64", ops: str = "ops") -> Trace:
    source = SOURCE if family == "transformer" else None
    return hand.trace(
        model(family), tokens=TOKENS, source=source, dtype=np.dtype(dtype), ops=getattr(hand, ops)
    )
