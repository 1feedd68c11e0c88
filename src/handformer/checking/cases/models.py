"""Whole models as cases, small ones and those of real size.

All sizes of a small one differ, so that no wrong size looks like the right one; some have heads
that together are wider than the model. Of each a row hardly varies before its first norm, where eps
decides; tokens come again, some targets are ignored, in each row another number of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from handformer import tree
from handformer.axes import Array, BoolArray, IntArray
from handformer.checking.cases.lively import lively, normal, rows_of_tokens
from handformer.models import CLASSES, Model, ModelConfig
from handformer.ops.cross_entropy import IGNORED
from handformer.ops.drops import NO_DROPOUT, RandomDropout
from handformer.randomness import generator
from handformer.tracing.case import case
from handformer.tracing.prompt import Prompt
from handformer.tracing.trace import Trace

QUIET = (0, 3)  # the row and the position of the token that hardly varies
LEVEL, DEPTH = 0.1, 1e-3  # around which it does, and how much


@dataclass(frozen=True)
class Whole:
    """How the case of a model is made.

    settings
        those of its `ModelConfig`
    rows
        what is read, a text a row: x is a real token, a dot is padding
    source
        the same of an encoder-decoder's source
    change
        what is done to the weights after they are drawn
    """

    settings: Mapping[str, Any]
    rows: str
    source: str = ""
    change: Callable[[Model], Model] = field(default=lambda model: model)

    @property
    def config(self) -> ModelConfig:
        """The model's shape."""
        return ModelConfig(**self.settings)

    @property
    def sizes(self) -> dict[str, int]:
        """Every size of it by name."""
        config, read = self.config, picture(self.rows).shape
        own = {
            "batch": read[0], "tokens": read[1], "n_heads": config.n_heads,
            "d_k": config.head_width, "d_model": config.d_model, "d_ff": config.hidden,
            "vocab_size": config.vocab_size, "n_layers": config.n_layers,
        }  # fmt: skip
        if config.kv_heads != config.n_heads:
            own["n_kv_heads"] = config.kv_heads
        if self.source:
            own |= {
                "source": picture(self.source).shape[1],
                "source_vocab_size": config.source_vocab_size or config.vocab_size,
            }
        return own

    def build(self, name: str) -> Trace:
        """Draw the weights, and run the model forward and backward."""
        config = self.config
        prompt = _prompt(self, name)
        model = lively(CLASSES[config.family].outline(config), name)
        model = self.change(_quiet(model, prompt.inputs, name))
        drop = RandomDropout(seed=3, step=5) if config.dropout else NO_DROPOUT
        return case(model, prompt, name=name, drop=drop)


def picture(rows: str) -> BoolArray:
    """`"xx. x.x"` as an array (rows, places), true at each x."""
    return np.array([[mark == "x" for mark in row] for row in rows.split()])


def full(rows: int, length: int) -> str:
    """The picture of rows without padding."""
    return " ".join(["x" * length] * rows)


def _prompt(made: Whole, name: str) -> Prompt:
    config, valid = made.config, picture(made.rows)
    tokens = rows_of_tokens(name, "tokens", valid.shape, config.vocab_size)
    inputs: dict[str, Any] = {"tokens": tokens, "valid": valid}
    if config.family == "bert":
        half = np.arange(valid.shape[1]) * 2 >= valid.shape[1]
        inputs["types"] = np.broadcast_to(half, valid.shape).astype(np.int64)
    if made.source:
        read, size = picture(made.source), config.source_vocab_size or config.vocab_size
        source = rows_of_tokens(name, "source", read.shape, size)
        inputs |= {"source": source, "source_valid": read}
    return Prompt(inputs, _targets(name, tokens, valid, config))


def _targets(name: str, tokens: IntArray, valid: BoolArray, config: ModelConfig) -> IntArray:
    """What should come: the next token, or what an encoder should guess; some are ignored."""
    rng = generator(0, 0, f"case.{name}.targets")
    targets = rng.integers(config.vocab_size, size=tokens.shape)
    counted = valid.copy()
    if config.family != "bert":
        targets[:, :-1] = tokens[:, 1:]
        counted[:, :-1] &= valid[:, 1:]
        if config.family != "transformer":  # nothing stands after the last
            counted[:, -1] = False
    for row in range(len(tokens)):  # one more of them in each row
        places = np.flatnonzero(counted[row])
        counted[row, rng.permutation(places)[: row % (len(places) // 2 + 1)]] = False
    return np.where(counted, targets, IGNORED)


def _quiet(model: Model, inputs: Mapping[str, Any], name: str) -> Model:
    """The same, but one row hardly varies where a norm comes first."""
    weights = tree.flatten(model)
    token = inputs["tokens"][QUIET]
    noise = normal(name, "quiet", weights[_table(model)].shape[1:], DEPTH)
    if "position_embedding.table" in weights:
        place = inputs["valid"][QUIET[0], : QUIET[1]].sum()
        others = weights["embedding.table"][token]
        if "type_embedding.table" in weights:
            others = others + weights["type_embedding.table"][inputs["types"][QUIET]]
        return _with_row(model, "position_embedding.table", place, LEVEL + noise - others)
    if "embedding.table" in weights:  # an RMSNorm knows no level
        return _with_row(model, "embedding.table", token, noise)
    return model


def _table(model: Model) -> str:
    return "embedding.table" if hasattr(model, "embedding") else "target_embedding.table"


def _with_row(model: Model, path: str, row: int, array: Array) -> Model:
    weights = tree.flatten(model)
    table = weights[path].copy()
    table[row] = array
    return tree.replace(model, {**weights, path: table})


def beyond_exp(model: Model) -> Model:
    """Scores that float32's exp can't take: in the first head far above 0, in the next far below.

    The keys' bias and the queries' make them, and the weights of these heads are small: so all
    scores of a row lie far off together, and the rows of attention are as uneven as elsewhere.
    """
    weights = tree.flatten(model)
    changed = dict(weights)
    for path in weights:
        if path.endswith("attention.b_k"):
            where = path.removesuffix("b_k")
            for head, sign in ((0, 1), (1, -1)):
                d_k = model.config.head_width
                own = slice(head * d_k, (head + 1) * d_k)
                for part, shift, scale in (("q", 5.5, 0.3), ("k", 13.0 * sign, 0.2)):
                    matrix, bias = (changed[where + kind + part].copy() for kind in ("w_", "b_"))
                    matrix[:, own] *= np.float32(scale)
                    bias[own] = bias[own] * np.float32(0.2) + np.float32(shift)
                    changed |= {f"{where}w_{part}": matrix, f"{where}b_{part}": bias}
    return tree.replace(model, changed)


GPT2: dict[str, Any] = {
    "family": "gpt2", "n_layers": 2, "n_heads": 3, "d_model": 12, "d_ff": 20, "vocab_size": 17,
    "context": 9,
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "family": "llama", "n_layers": 2, "n_heads": 6, "n_kv_heads": 2, "d_k": 10, "d_model": 14,
    "d_ff": 11, "vocab_size": 17, "context": 9,
}  # fmt: skip
BERT: dict[str, Any] = {
    "family": "bert", "n_layers": 2, "n_heads": 3, "d_model": 12, "d_ff": 20, "vocab_size": 17,
    "context": 9,
}  # fmt: skip
TRANSFORMER: dict[str, Any] = {
    "family": "transformer", "n_layers": 2, "n_heads": 3, "d_k": 4, "d_model": 10, "d_ff": 14,
    "vocab_size": 17, "source_vocab_size": 19, "context": 11,
}  # fmt: skip
STRESS: dict[str, Any] = {
    **GPT2, "n_layers": 1, "d_k": 6, "d_model": 10, "tied": False, "context": 13,
}  # fmt: skip

MODELS: dict[str, tuple[str, Whole]] = {
    "gpt2-tiny": (
        "GPT-2 with two blocks, tied, without padding: the one to begin with.",
        Whole(GPT2, full(5, 7)),
    ),
    "gpt2-padded": (
        "The same, untied, with rows that are padded on the left and on the right.",
        Whole({**GPT2, "tied": False}, "xxxxxxx ..xxxxx xxxxx.. xxxxxxx xxxxxx."),
    ),
    "gpt2-dropout": (
        "The same, tied, with dropout: the masks that say what is kept are inputs.",
        Whole({**GPT2, "dropout": 0.3}, full(5, 7)),
    ),
    "gpt2-stress": (
        "GPT-2 with heads wider than the model and scores beyond 90, and far below 0.",
        Whole(STRESS, full(5, 7), change=beyond_exp),
    ),
    "llama-tiny": (
        "Llama with two blocks, untied, query heads in groups, heads wider than the model.",
        Whole(LLAMA, full(4, 7)),
    ),
    "llama-padded": (
        "The same, tied, with rows that are padded on the left and on the right.",
        Whole({**LLAMA, "tied": True}, "xxxxxxx ..xxxxx xxxxx.. xxxxxxx"),
    ),
    "llama-stress": (
        "Llama with one block, 70 tokens in a row, and a rotary base of 500000.",
        Whole({**LLAMA, "n_layers": 1, "rope_base": 500000.0, "context": 80}, full(4, 70)),
    ),
    "bert-tiny": (
        "BERT with two blocks, tied, two types of tokens, and rows that are padded on the right.",
        Whole(BERT, "xxxxxxx xxxxx.. xxxxxxx xxxxxx. xxxxxxx"),
    ),
    "encoder-decoder-tiny": (
        "The Transformer of 2017 with two blocks a side; source and target are padded.",
        Whole(
            TRANSFORMER,
            "xxxxxxx xxxxx.. xxxxxxx xxxxxx. xxxxxxx",
            "xxxxxxxxx xxxxxxx.. xxxxxxxxx xxxxxxxx. xxxxxxxxx",
        ),
    ),
    "gpt2-small": (
        "GPT-2 in its real size: 12 blocks, 124 million weights, drawn at random.",
        Whole(
            {"family": "gpt2", "n_layers": 12, "n_heads": 12, "d_model": 768,
             "vocab_size": 50257, "context": 1024},
            full(2, 24),
        ),
    ),
    "llama-135m": (
        "Llama in the size of SmolLM: 30 blocks, 135 million weights, drawn at random.",
        Whole(
            {"family": "llama", "n_layers": 30, "n_heads": 9, "n_kv_heads": 3, "d_model": 576,
             "d_ff": 1536, "vocab_size": 49152, "context": 2048, "tied": True},
            full(2, 24),
        ),
    ),
}  # fmt: skip
