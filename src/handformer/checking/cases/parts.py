"""Parts of a model as cases: attention and all its variants, networks, norms, embeddings, the loss.

They are given their inputs and the gradient of their output. All sizes of one differ, and its heads
together are wider than the model, except where it says so.
"""

from typing import Any

import numpy as np

from handformer.checking.cases import inputs
from handformer.checking.cases.alone import Alone, Formulas
from handformer.checking.cases.inputs import (
    BAND,
    BATCH,
    D_FF,
    D_MODEL,
    FULL,
    LATEST,
    MEMORY,
    MEMORY_PADDED,
    PADDED_EARLY,
    PADDED_LATE,
    SQUARE,
    TOKENS,
    VOCAB_SIZE,
    WINDOW,
)
from handformer.layers import (
    MLP,
    Alibi,
    CrossAttention,
    Dropout,
    Embedding,
    FlashAttention,
    GatedMLP,
    LayerNorm,
    MultiHeadAttention,
    PostNormBlock,
    PreNormBlock,
    RMSNorm,
    Rotary,
    SingleHeadAttention,
    SinusoidalPositions,
)
from handformer.ops import cross_entropy, softmax
from handformer.ops.drops import RandomDropout

RNG = np.random.default_rng(0)  # shapes are all that matters: every weight is drawn for its case
ROWS = {"batch": BATCH, "tokens": TOKENS, "d_model": D_MODEL}
HIDDEN = {**ROWS, "d_ff": D_FF}
PLAIN: dict[str, Any] = {"n_heads": 3, "d_k": 4}
GROUPED: dict[str, Any] = {"n_heads": 8, "n_kv_heads": 2, "d_k": 6}
MANY: dict[str, Any] = {"n_heads": 12, "n_kv_heads": 3, "d_k": 6}
RATE, DROPS = 0.3, RandomDropout(seed=3, step=5)


def _heads(heads: dict[str, Any], made: Any = inputs.rows, **settings: Any) -> Alone:
    """Attention with several heads, under the causal mask unless another is given."""
    own = {key: settings.pop(key) for key in ("before", "given", "drop") if key in settings}
    layer = MultiHeadAttention.init(D_MODEL, rng=RNG, **heads, **settings)
    return Alone(layer, made, {**ROWS, **heads}, **(FULL | own))


def _mlp(activation: str) -> Alone:
    return Alone(MLP.init(D_MODEL, D_FF, RNG, activation=activation), inputs.rows, HIDDEN)


def _gated(activation: str) -> Alone:
    return Alone(GatedMLP.init(D_MODEL, D_FF, RNG, activation=activation), inputs.rows, HIDDEN)


def _pre_norm() -> Alone:
    norm, heads = LayerNorm.init(D_MODEL), MultiHeadAttention.init(D_MODEL, rng=RNG, **PLAIN)
    mlp = MLP.init(D_MODEL, D_FF, RNG)
    block = PreNormBlock(norm, heads, Dropout(), norm, mlp, Dropout())
    return Alone(block, inputs.quiet_rows, {**HIDDEN, **PLAIN}, **FULL)


def _post_norm() -> Alone:
    norm, heads = LayerNorm.init(D_MODEL), MultiHeadAttention.init(D_MODEL, rng=RNG, **PLAIN)
    mlp = MLP.init(D_MODEL, D_FF, RNG, activation="relu")
    block = PostNormBlock(heads, Dropout(), norm, mlp, Dropout(), norm)
    return Alone(block, inputs.rows, {**HIDDEN, **PLAIN}, **PADDED_LATE)


def _loss(smoothing: float) -> Formulas:
    scalars = {"smoothing": smoothing, "vocab_size": VOCAB_SIZE, "d_loss": 1.0}
    sizes = {"batch": BATCH, "tokens": TOKENS, "vocab_size": VOCAB_SIZE}
    sheet = cross_entropy.FORMULAS.rename(b="b t")
    return Formulas("CrossEntropy", sheet, inputs.logits, scalars, sizes)


def _softmax() -> Formulas:
    sizes = {"batch": BATCH, "entries": TOKENS}
    return Formulas("Softmax", softmax.FORMULAS, inputs.scores, {}, sizes)


def _cross(**seen: Any) -> Alone:
    """Attention to a memory that is longer than what looks at it."""
    layer = CrossAttention.init(D_MODEL, rng=RNG, **GROUPED)
    return Alone(layer, inputs.two_sides, {**ROWS, "memory": MEMORY, **GROUPED}, **seen)


PARTS: dict[str, tuple[str, str, Alone | Formulas]] = {
    "single-head": (
        "attention", "One head, one row, no mask and no biases: the attention to begin with.",
        Alone(
            SingleHeadAttention.init(SQUARE, 4, RNG), inputs.one_row,
            {"tokens": inputs.ALONE, "d_k": 4, "d_model": SQUARE},
        ),
    ),
    "attention": (
        "attention", "Several heads, as wide together as the model, under the causal mask.",
        Alone(
            MultiHeadAttention.init(SQUARE, 3, RNG), inputs.square_rows,
            {**ROWS, "d_model": SQUARE, **PLAIN}, **FULL,
        ),
    ),
    "padded-attention": (
        "attention", "Rows that begin with padding: some queries see no key at all.",
        _heads(PLAIN, **PADDED_EARLY),
    ),
    "grouped-attention": (
        "attention", "Groups of query heads share keys and values; some rows end with padding.",
        _heads(GROUPED, **PADDED_LATE),
    ),
    "rotary-attention": (
        "attention", "Rotary positions, pairs of the two halves of a head, at positions beyond 64.",
        _heads(GROUPED, inputs.placed_rows, bias=False, position=Rotary()),
    ),
    "rotary-interleaved": (
        "attention", "Rotary positions, pairs of neighbours, with a base of 500000.",
        _heads(
            GROUPED, inputs.placed_rows, bias=False,
            position=Rotary(500000.0, "rotary_interleaved"),
        ),
    ),
    "alibi-attention": (
        "attention", "ALiBi's penalties for distance, with 12 heads.",
        _heads(MANY, position=Alibi()),
    ),
    "window-attention": (
        "attention", f"A sliding window: each query sees itself and the {WINDOW - 1} keys before.",
        _heads(GROUPED, **BAND, given={}),
    ),
    "dropout-attention": (
        "attention", "Dropout on the weights of attention; the mask of what is kept is given.",
        _heads(PLAIN, dropout=RATE, drop=DROPS),
    ),
    "cross-attention": (
        "attention", "Queries of one sequence, keys and values of another, longer one.",
        _cross(**MEMORY_PADDED),
    ),
    "chunk-attention": (
        "attention", "Fewer queries than keys, as with a cache: the last query sees the last key.",
        _cross(**LATEST),
    ),
    "flash-attention": (
        "attention", "Attention that keeps no scores, but the logarithm of each row's sum.",
        Alone(
            FlashAttention.init(D_MODEL, rng=RNG, **GROUPED), inputs.rows,
            {**ROWS, **GROUPED}, **FULL,
        ),
    ),
    "mlp": ("network", "Two matrices and GPT-2's GELU, by tanh, between them.", _mlp("gelu_tanh")),
    "mlp-gelu": ("network", "Two matrices and BERT's GELU, by erf, between them.", _mlp("gelu")),
    "mlp-relu": ("network", "Two matrices and ReLU between them.", _mlp("relu")),
    "swiglu": ("network", "Llama's network: three matrices, a SiLU gate.", _gated("swiglu")),
    "geglu": ("network", "Three matrices, a GELU gate.", _gated("geglu")),
    "layer-norm": (
        "norm", "LayerNorm; one row hardly varies, so that eps decides.",
        Alone(LayerNorm.init(D_MODEL), inputs.quiet_rows, ROWS),
    ),
    "rms-norm": (
        "norm", "RMSNorm; one row is nearly 0, so that eps decides.",
        Alone(RMSNorm.init(D_MODEL), inputs.tiny_rows, ROWS),
    ),
    "embedding": (
        "embedding", "A table looked up for tokens that come again, scaled by the root of d_model.",
        Alone(
            Embedding.init(VOCAB_SIZE, D_MODEL, RNG, scale=D_MODEL**0.5), inputs.tokens,
            {**ROWS, "vocab_size": VOCAB_SIZE},
        ),
    ),
    "sinusoidal-positions": (
        "embedding", "Sines and cosines of positions beyond 64.",
        Alone(SinusoidalPositions(D_MODEL), inputs.positions, ROWS),
    ),
    "pre-norm-block": ("block", "A block of GPT-2, without dropout.", _pre_norm()),
    "post-norm-block": ("block", "A block of 2017, without dropout.", _post_norm()),
    "softmax": ("loss", "A softmax of rows that leave the range of float32's exp.", _softmax()),
    "loss": ("loss", "Cross-entropy over targets some of which are ignored.", _loss(0.0)),
    "smoothed-loss": ("loss", "The same with label smoothing.", _loss(0.1)),
}  # fmt: skip
