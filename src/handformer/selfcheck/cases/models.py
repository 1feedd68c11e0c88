"""Small models, whole, on inputs on which mistakes don't go unseen.

All sizes of a model differ, none of its weights is neutral, tokens occur more than once, some are
padding on the left, and some queries see no key at all. Of each kind one drops entries.
"""

from typing import Any, cast

import numpy as np

from handformer.axes import BoolArray, IntArray
from handformer.models import CLASSES, Model, ModelConfig
from handformer.ops.drops import NO_DROPOUT, RandomDropout
from handformer.selfcheck.cases.layers import lively
from handformer.selfcheck.layers import LayerCase

RATE = 0.2

GPT2: dict[str, Any] = {
    "family": "gpt2", "n_layers": 2, "n_heads": 3, "d_k": 4, "d_model": 10, "d_ff": 14,
    "vocab_size": 13, "context": 9,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "family": "llama", "n_layers": 2, "n_heads": 6, "n_kv_heads": 3, "d_k": 4, "d_model": 10,
    "d_ff": 9, "vocab_size": 13, "context": 8,
}  # fmt: skip
BERT: dict[str, Any] = {
    "family": "bert", "n_layers": 2, "n_heads": 4, "d_k": 5, "d_model": 6, "d_ff": 7,
    "vocab_size": 11, "context": 8,
}  # fmt: skip
TRANSFORMER: dict[str, Any] = {
    "family": "transformer", "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "d_k": 3, "d_model": 8,
    "d_ff": 9, "vocab_size": 11, "context": 10,
}  # fmt: skip


class ModelCase(LayerCase):
    """A whole model on given inputs."""

    @property
    def model(self) -> Model:
        """The model itself."""
        return cast(Model, self.layer)


def models(rng: np.random.Generator) -> list[ModelCase]:
    """Every kind of model, tied and untied."""
    # x is a real token, a dot is padding; each row begins with some, or holds nothing else.
    short, holes, empty = "xxxxxx ..xxxx", "xxxxx .xx.x", "xxxx ..xx ...."
    source, target = "xxxxxxx ..xxxxx .......", "xxxxx .xxxx xxxxx"
    other: dict[str, Any] = {"source_vocab_size": 12}
    return [
        _decoder(rng, GPT2, "gpt2 tied, without padding", tied=True),
        _decoder(rng, GPT2, "gpt2 untied, dropout", short, tied=False, dropout=RATE),
        _decoder(rng, LLAMA, "llama tied, dropout", holes, tied=True, dropout=RATE),
        _decoder(rng, LLAMA, "llama untied", holes, tied=False),
        _decoder(rng, GPT2, "gpt2 tied, flash", short, tied=True, attention="flash"),
        _decoder(rng, LLAMA, "llama untied, flash", holes, tied=False, attention="flash"),
        _encoder(rng, "bert tied", empty, tied=True),
        _encoder(rng, "bert untied, dropout", empty, tied=False, dropout=RATE),
        _encoder(rng, "bert tied, flash", empty, tied=True, attention="flash"),
        _pair(rng, "transformer tied, dropout", source, target, **other, n_layers=1, dropout=RATE),
        _pair(rng, "transformer untied", source, target, **other, tied=False),
        _pair(rng, "transformer shared", source, target, shared=True),
    ]


def picture(rows: str) -> BoolArray:
    """`"xx. x.x"` as an array (rows, places), true at each x."""
    return np.array([[mark == "x" for mark in row] for row in rows.split()])


def _decoder(
    rng: np.random.Generator, sizes: dict[str, Any], label: str, valid: str = "", **settings: Any
) -> ModelCase:
    tokens = _tokens(rng, picture(valid).shape if valid else (2, 5), sizes["vocab_size"])
    padding = {"valid": picture(valid)} if valid else {}
    return _case(rng, label, {**sizes, **settings}, {"tokens": tokens, **padding})


def _encoder(rng: np.random.Generator, label: str, valid: str, **settings: Any) -> ModelCase:
    shape = picture(valid).shape
    inputs = {
        "tokens": _tokens(rng, shape, BERT["vocab_size"]),
        "types": rng.integers(2, size=shape),
        "valid": picture(valid),
    }
    return _case(rng, label, {**BERT, **settings}, inputs)


def _pair(
    rng: np.random.Generator, label: str, source: str, target: str, **settings: Any
) -> ModelCase:
    config = {**TRANSFORMER, **settings}
    entries = config.get("source_vocab_size", config["vocab_size"])
    inputs = {
        "source": _tokens(rng, picture(source).shape, entries),
        "tokens": _tokens(rng, picture(target).shape, config["vocab_size"]),
        "source_valid": picture(source),
        "valid": picture(target),
    }
    return _case(rng, label, config, inputs)


def _case(
    rng: np.random.Generator, label: str, settings: dict[str, Any], inputs: dict[str, Any]
) -> ModelCase:
    config = ModelConfig(**settings)
    model = lively(CLASSES[config.family].init(config, dtype=np.float64), rng)
    drop = RandomDropout(seed=3, step=5) if config.dropout else NO_DROPOUT
    return ModelCase(label, model, inputs, drop)


def _tokens(rng: np.random.Generator, shape: tuple[int, ...], vocab_size: int) -> IntArray:
    """Tokens that occur again in their row and in other rows; the vocabulary's last never does."""
    tokens = rng.integers(vocab_size - 1, size=shape)
    tokens[:, -1] = tokens[:, -2]
    tokens[:, 2] = tokens[0, 2]
    return tokens
