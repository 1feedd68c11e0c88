"""One case of each op at the sizes of a small GPT-2, for the clock: not to find mistakes."""

from typing import Any

import numpy as np

from handformer.live.contract import Contract
from handformer.ops.rotary_angles import forward as angles
from handformer.selfcheck.cases import cast
from handformer.selfcheck.ops import Case

T, D_MODEL, D_FF, HEADS, KV_HEADS, D_K, VOCAB = 256, 768, 3072, 12, 4, 64, 8192
BASE = 10000.0


def large(contract: Contract, rng: np.random.Generator) -> Case:
    """The op's case, in float32."""
    arrays, scalars = _INPUTS[contract.name](rng.normal, rng)
    return cast(Case(contract.op, arrays, scalars, "large"), np.float32)


def _attended(normal: Any, rng: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays = {name: normal(size=(heads, T, D_K))
              for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))}  # fmt: skip
    scalars = {"d_k": D_K, "group": HEADS // KV_HEADS, "n_kv_heads": KV_HEADS}
    return {**arrays, "mask": np.tri(T, dtype=np.bool_)[None].repeat(HEADS, 0)}, scalars


def _masked(normal: Any, rng: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays, scalars = _attended(normal, rng)
    return {**arrays, "keep": np.ones((HEADS, T, T), np.bool_)}, {**scalars, "rate": 0.0}


def _rotated(normal: Any, rng: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    cos, sin = angles(np.arange(T), D_K, BASE, np.float64)
    return {"x": normal(size=(HEADS, T, D_K)), "cos": cos, "sin": sin}, {"d_k": D_K}


def _wide(n: Any, r: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"x": n(size=(T, D_FF))}, {}


def _gated(n: Any, r: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"gate": n(size=(T, D_FF)), "up": n(size=(T, D_FF))}, {}


_HEADS = {"n_heads": HEADS, "d_k": D_K}
_EPS = {"eps": 1e-5}
_ROWS = (T, D_MODEL)
_SIZES = {"n_queries": T, "n_keys": T}
_INPUTS: dict[str, Any] = {
    "add": lambda n, r: ({"x": n(size=_ROWS), "z": n(size=_ROWS)}, {}),
    "alibi": lambda n, r: ({}, {**_SIZES, "n_heads": HEADS, "dtype": np.float64}),
    "attention": lambda n, r: ({name: n(size=(HEADS, T, D_K)) for name in "qkv"}, {"d_k": D_K}),
    "cross_entropy": lambda n, r: (
        {"logits": n(size=(T, VOCAB)), "targets": r.integers(VOCAB, size=T)},
        {"smoothing": 0.0, "vocab_size": VOCAB},
    ),
    "dropout": lambda n, r: ({"x": n(size=_ROWS), "keep": r.random(_ROWS) > 0.1}, {"rate": 0.1}),
    "embedding": lambda n, r: (
        {"tokens": r.integers(VOCAB, size=T), "table": n(size=(VOCAB, D_MODEL))},
        {"scale": 1.0, "vocab_size": VOCAB},
    ),
    "flash_attention": lambda n, r: (_attended(n, r)[0], {**_attended(n, r)[1], "block": 192}),
    "geglu": _gated, "swiglu": _gated,
    "gelu": _wide, "gelu_tanh": _wide, "relu": _wide, "silu": _wide,
    "layer_norm": lambda n, r: (
        {"x": n(size=_ROWS), "gamma": n(size=D_MODEL), "beta": n(size=D_MODEL)}, _EPS
    ),
    "rms_norm": lambda n, r: ({"x": n(size=_ROWS), "gamma": n(size=D_MODEL)}, _EPS),
    "linear": lambda n, r: (
        {"x": n(size=_ROWS), "w": n(size=(D_MODEL, D_FF)), "bias": n(size=D_FF)}, {}
    ),
    "tied_linear": lambda n, r: ({"x": n(size=_ROWS), "table": n(size=(VOCAB, D_MODEL))}, {}),
    "project_heads": lambda n, r: (
        {"x": n(size=_ROWS), "w": n(size=(D_MODEL, D_MODEL)), "bias": n(size=D_MODEL)}, _HEADS
    ),
    "merge_heads": lambda n, r: (
        {"x": n(size=(HEADS, T, D_K)), "w": n(size=(D_MODEL, D_MODEL)), "bias": n(size=D_MODEL)},
        _HEADS,
    ),
    "masked_attention": _masked,
    "softmax": lambda n, r: ({"x": n(size=(HEADS, T, T))}, {}),
    "masked_softmax": lambda n, r: (
        {"x": n(size=(HEADS, T, T)), "mask": np.tri(T, dtype=np.bool_)[None].repeat(HEADS, 0)}, {}
    ),
    "rotary": _rotated, "rotary_interleaved": _rotated,
    "rotary_angles": lambda n, r: (
        {"positions": np.arange(T)},
        {"d_k": D_K, "base": BASE, "n_pairs": D_K // 2, "dtype": np.float64},
    ),
    "sinusoidal": lambda n, r: (
        {"positions": np.arange(T)}, {"d_model": D_MODEL, "base": BASE, "dtype": np.float64}
    ),
    "masks.causal": lambda n, r: ({}, _SIZES),
    "masks.window": lambda n, r: ({}, {**_SIZES, "width": 64}),
    "masks.padding": lambda n, r: ({"valid": r.random((4, T)) > 0.2}, {"n_queries": T}),
}  # fmt: skip
