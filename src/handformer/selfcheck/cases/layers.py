"""Every layer on inputs on which mistakes don't go unseen, with any leading axes.

All sizes of a layer differ, none of its weights is neutral, some keys are hidden, and some queries
see no key at all.
"""

from collections.abc import Iterator
from math import sqrt
from typing import Any, TypeVar

import numpy as np

from handformer import tree
from handformer.axes import Array, BoolArray, IntArray
from handformer.layers import (
    MLP,
    Alibi,
    CrossAttention,
    CrossBlock,
    Dropout,
    Embedding,
    FlashAttention,
    GatedMLP,
    Head,
    LayerNorm,
    MaskedTokenHead,
    MultiHeadAttention,
    PostNormBlock,
    PreNormBlock,
    RMSNorm,
    Rotary,
    SingleHeadAttention,
    SinusoidalPositions,
    TiedHead,
)
from handformer.ops import masks
from handformer.ops.drops import RandomDropout
from handformer.selfcheck.layers import LayerCase

Shape = tuple[int, ...]
_Layer = TypeVar("_Layer")

LEADING: tuple[Shape, ...] = ((), (2,), (2, 3))
N_QUERIES, N_KEYS, D_MODEL, D_FF, VOCAB_SIZE = 5, 6, 7, 8, 11
GROUPED: dict[str, Any] = {"n_heads": 4, "n_kv_heads": 2, "d_k": 3}
TURNED: dict[str, Any] = {"n_heads": 3, "n_kv_heads": 1, "d_k": 4, "bias": False}
RATE = 0.3
DROP = RandomDropout(seed=3, step=5)
CORNER = 3e-3  # nothing lies as near to ReLU's corner: differences would reach across it


def layers(rng: np.random.Generator, leading: tuple[Shape, ...] = LEADING) -> list[LayerCase]:
    """Every layer and every variant of it, for each of these leading axes."""
    return [
        case
        for axes in leading
        for cases in (_attention, _flash, _cross, _networks, _rows, _tables, _heads, _blocks)
        for case in cases(rng, axes)
    ]


def lively(node: _Layer, rng: np.random.Generator) -> _Layer:
    """The same layer or model with weights of which none is neutral.

    Normal numbers, as large as keeps rows of attention uneven and none of them one-hot.
    """

    def change(path: str, array: Array) -> Array:
        name, drawn = path.rpartition(".")[2], rng.normal(size=array.shape)
        if array.ndim == 1:
            return 0.3 * drawn + (name == "gamma")
        return drawn * (0.6 if name == "table" else 0.9 / sqrt(array.shape[0]))

    return tree.transform(node, change)


def _attention(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    x = rng.normal(size=(*leading, N_QUERIES, D_MODEL))
    single = SingleHeadAttention.init(D_MODEL, 3, rng)
    yield LayerCase(_label("", leading), lively(single, rng), {"x": x})
    mask = _visible(rng, leading)
    turned = {"x": x, "mask": mask, "positions": _positions(rng, leading)}
    variants: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        ("plain", {"n_heads": 3, "d_k": 4}, {"x": x}),
        ("grouped", GROUPED, {"x": x, "mask": mask}),
        ("no biases", {**GROUPED, "bias": False}, {"x": x, "mask": mask}),
        ("rotary", {**TURNED, "position": Rotary()}, turned),
        ("rotary, counted", {**TURNED, "position": Rotary()}, {"x": x, "mask": mask}),
        ("interleaved", {**TURNED, "position": Rotary(500.0, "rotary_interleaved")}, turned),
        ("ALiBi", {**GROUPED, "position": Alibi()}, {"x": x, "mask": mask}),
        ("dropout", {**GROUPED, "dropout": RATE}, {"x": x, "mask": mask}),
    )
    for label, settings, inputs in variants:
        many = MultiHeadAttention.init(D_MODEL, rng=rng, **settings)
        yield LayerCase(_label(label, leading), lively(many, rng), inputs, DROP)
    own = np.random.default_rng(6)
    six = MultiHeadAttention.init(D_MODEL, 6, n_kv_heads=2, d_k=3, position=Alibi(), rng=own)
    yield LayerCase(_label("ALiBi, six heads", leading), lively(six, own), {"x": x})


def _flash(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    x = rng.normal(size=(*leading, N_QUERIES, D_MODEL))
    mask = _visible(rng, leading)
    placed = {"x": x, "mask": mask, "positions": _positions(rng, leading)}
    for label, settings, inputs in (
        ("plain", {"n_heads": 3, "d_k": 4}, {"x": x}),
        ("grouped", GROUPED, {"x": x, "mask": mask}),
        ("rotary, no biases", {**TURNED, "position": Rotary()}, placed),
    ):
        layer = FlashAttention.init(D_MODEL, rng=rng, **settings)
        yield LayerCase(_label(label, leading), lively(layer, rng), inputs)


def _cross(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    inputs = {
        "x": rng.normal(size=(*leading, N_QUERIES, D_MODEL)),
        "memory": rng.normal(size=(*leading, N_KEYS, D_MODEL)),
        "mask": _memory_visible(rng, leading),
    }
    for label, settings in (("grouped", GROUPED), ("dropout", {**TURNED, "dropout": RATE})):
        layer = CrossAttention.init(D_MODEL, rng=rng, **settings)
        yield LayerCase(_label(label, leading), lively(layer, rng), inputs, DROP)


def _networks(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    x = rng.normal(size=(*leading, N_QUERIES, D_MODEL))
    for activation in ("relu", "gelu", "gelu_tanh", "silu"):
        layer = lively(MLP.init(D_MODEL, D_FF, rng, activation=activation), rng)
        while np.abs(layer.forward(x)[1].pre).min() < CORNER:
            layer = lively(layer, rng)
        yield LayerCase(_label(activation, leading), layer, {"x": x})
    bare = MLP(layer.w_up, None, layer.w_down, None, "gelu")
    yield LayerCase(_label("no biases", leading), bare, {"x": x})
    for activation in ("swiglu", "geglu"):
        gated = lively(GatedMLP.init(D_MODEL, D_FF, rng, activation=activation), rng)
        yield LayerCase(_label(activation, leading), gated, {"x": x})


def _rows(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    x = 1.3 * rng.normal(size=(*leading, N_QUERIES, D_MODEL)) + 0.4
    for label, norm in (
        ("", LayerNorm.init(D_MODEL, eps=0.1)),  # so large that it shows
        ("no beta", LayerNorm.init(D_MODEL, bias=False)),
        ("", RMSNorm.init(D_MODEL, eps=0.1)),
    ):
        yield LayerCase(_label(label, leading), lively(norm, rng), {"x": x})
    yield LayerCase(_label("", leading), Dropout(RATE), {"x": x}, DROP)
    yield LayerCase(_label("rate 0", leading), Dropout(0.0), {"x": x}, DROP)


def _tables(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    tokens = rng.integers(VOCAB_SIZE - 1, size=(*leading, N_QUERIES))
    tokens[..., -1] = tokens[..., 0]
    layer = lively(Embedding.init(VOCAB_SIZE, D_MODEL, rng, scale=sqrt(D_MODEL)), rng)
    elsewhere = {"d_table_elsewhere": 0.1 * rng.normal(size=layer.table.shape)}
    yield LayerCase(_label("", leading), layer, {"tokens": tokens})
    yield LayerCase(_label("also a head", leading), layer, {"tokens": tokens}, sent=elsewhere)
    positions = rng.integers(300, size=(*leading, N_QUERIES))
    inputs = {"positions": positions, "dtype": np.float64}
    yield LayerCase(_label("", leading), SinusoidalPositions(D_MODEL), inputs)


def _heads(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    inputs = {
        "x": rng.normal(size=(*leading, N_QUERIES, D_MODEL)),
        "table": rng.normal(size=(VOCAB_SIZE, D_MODEL)),
    }
    yield LayerCase(_label("", leading), lively(Head.init(D_MODEL, VOCAB_SIZE, rng), rng), inputs)
    yield LayerCase(_label("", leading), TiedHead(), inputs)
    for label, tied in (("tied", True), ("untied", False)):
        head = MaskedTokenHead.init(D_MODEL, VOCAB_SIZE, rng, tied=tied, eps=1e-12)
        yield LayerCase(_label(label, leading), lively(head, rng), inputs)


def _blocks(rng: np.random.Generator, leading: Shape) -> Iterator[LayerCase]:
    x = rng.normal(size=(*leading, N_QUERIES, D_MODEL))
    mask, drop = _visible(rng, leading), Dropout(RATE)
    heads = MultiHeadAttention.init(D_MODEL, rng=rng, dropout=RATE, **GROUPED)
    turned = MultiHeadAttention.init(D_MODEL, rng=rng, position=Rotary(), **TURNED)
    flash = FlashAttention.init(D_MODEL, rng=rng, **GROUPED)
    norm, mlp = LayerNorm.init(D_MODEL), MLP.init(D_MODEL, D_FF, rng, activation="gelu")
    rms, gated = RMSNorm.init(D_MODEL), GatedMLP.init(D_MODEL, D_FF, rng)
    inputs: dict[str, Any] = {"x": x, "mask": mask}
    placed = {**inputs, "positions": _positions(rng, leading)}
    for label, block, told in (
        ("LayerNorm, dropout", PreNormBlock(norm, heads, drop, norm, mlp, drop), inputs),
        ("RMSNorm, rotary", PreNormBlock(rms, turned, Dropout(), rms, gated, Dropout()), placed),
        ("flash", PreNormBlock(norm, flash, drop, norm, mlp, drop), inputs),
        ("dropout", PostNormBlock(heads, drop, norm, mlp, drop, norm), inputs),
    ):
        yield LayerCase(_label(label, leading), lively(block, rng), told, DROP)
    cross = CrossAttention.init(D_MODEL, rng=rng, dropout=RATE, **GROUPED)
    last = CrossBlock(heads, drop, norm, cross, drop, norm, mlp, drop, norm)
    memory = rng.normal(size=(*leading, N_KEYS, D_MODEL))
    both = {**inputs, "memory": memory, "memory_mask": _memory_visible(rng, leading)}
    later = {"d_memory_later": 0.1 * rng.normal(size=memory.shape)}
    yield LayerCase(_label("dropout", leading), lively(last, rng), both, DROP, later)


def _label(label: str, leading: Shape) -> str:
    return ", ".join(part for part in (label, f"leading {leading}") if part)


def _positions(rng: np.random.Generator, leading: Shape) -> IntArray:
    """Places with gaps between them, such that rows differ; as far as float16 can't count."""
    steps = rng.integers(1, 40, size=(*leading, N_QUERIES))
    steps[..., -1] += 2050
    return np.cumsum(steps, axis=-1)


def _visible(rng: np.random.Generator, leading: Shape) -> BoolArray:
    """Causal, and the first key hidden, so that the first query sees nothing."""
    valid = rng.random((*leading, N_QUERIES)) < 0.8
    valid[..., 0] = False
    causal = masks.causal.forward(N_QUERIES, N_QUERIES)
    return masks.combine(causal, masks.padding.forward(valid, N_QUERIES))


def _memory_visible(rng: np.random.Generator, leading: Shape) -> BoolArray:
    """Some keys of the memory, and for one query none."""
    mask = rng.random((*leading, N_QUERIES, N_KEYS)) < 0.7
    mask[..., 0], mask[..., 2, :] = True, False
    return mask
