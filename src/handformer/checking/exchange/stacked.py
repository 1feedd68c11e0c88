"""llm.c's names: one array for all layers, q, k and v side by side, matrices (out, in).

A gradient has a d before its name, or `_grad` after it. The vocabulary may be filled up. `loss`
and `logits` are understood of every model.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from handformer.checking.exchange.place import (
    AnyArray,
    Aside,
    Case,
    Found,
    Place,
    path_of,
    without_gradient,
)


class _Layered(NamedTuple):
    """Our paths in a block, side by side along the axis `side` of theirs, and the orders."""

    ours: tuple[str, ...]
    axes: str = ""
    order: str = ""
    side: int = -1


_HEADS = ("b t (h c)", "b h t c")
_TURNED = ("j i", "i j")
_QKV = tuple(f"attention.{letter}" for letter in "qkv")
_IN_BLOCKS = {
    "ln1": _Layered(("norm_1.out",)), "ln1_mean": _Layered(("norm_1.mean",)),
    "ln1_rstd": _Layered(("norm_1.rstd",)), "qkv": _Layered(_QKV, *_HEADS),
    "atty": _Layered(("attention.context",), *_HEADS), "preatt": _Layered(("attention.scores",)),
    "att": _Layered(("attention.attn",)), "attproj": _Layered(("attention.out",)),
    "residual2": _Layered(("mid",)), "ln2": _Layered(("norm_2.out",)),
    "ln2_mean": _Layered(("norm_2.mean",)), "ln2_rstd": _Layered(("norm_2.rstd",)),
    "fch": _Layered(("mlp.pre",)), "fch_gelu": _Layered(("mlp.post",)),
    "fcproj": _Layered(("mlp.out",)), "residual3": _Layered(("out",)),
    "ln1w": _Layered(("norm_1.gamma",)), "ln1b": _Layered(("norm_1.beta",)),
    "qkvw": _Layered(tuple(f"attention.w_{letter}" for letter in "qkv"), *_TURNED, side=0),
    "qkvb": _Layered(tuple(f"attention.b_{letter}" for letter in "qkv")),
    "attprojw": _Layered(("attention.w_o",), *_TURNED), "attprojb": _Layered(("attention.b_o",)),
    "ln2w": _Layered(("norm_2.gamma",)), "ln2b": _Layered(("norm_2.beta",)),
    "fcw": _Layered(("mlp.w_up",), *_TURNED), "fcb": _Layered(("mlp.b_up",)),
    "fcprojw": _Layered(("mlp.w_down",), *_TURNED), "fcprojb": _Layered(("mlp.b_down",)),
}  # fmt: skip
_OUTSIDE = {
    "encoded": "x", "lnf": "norm.out", "lnf_mean": "norm.mean", "lnf_rstd": "norm.rstd",
    "probs": "loss.probs", "losses": "loss.losses", "mean_loss": "loss.loss", "inputs": "tokens",
    "targets": "loss.targets", "wte": "embedding.table", "wpe": "position_embedding.table",
    "lnfw": "norm.gamma", "lnfb": "norm.beta",
}  # fmt: skip
_EVERYWHERE = {"logits": "head.out", "loss": "loss.loss"}
_ALL = {*_IN_BLOCKS, *_OUTSIDE, *_EVERYWHERE}


def find(name: str, case: Case) -> Found:
    """Our places for one of their names; None: it isn't theirs."""
    if case.config is None:
        return None
    plain, is_gradient = without_gradient(name)
    if plain not in _ALL and plain.startswith("d"):
        plain, is_gradient = plain[1:], True
    if plain in _IN_BLOCKS and case.config.family == "gpt2":
        return _layers(plain, is_gradient, case)
    path = _EVERYWHERE.get(plain) or (_OUTSIDE.get(plain) if case.config.family == "gpt2" else None)
    if path is None:
        return None
    path = path_of(path, is_gradient)
    if path not in case.known:
        return Aside("the case has no such gradient")
    return (Place(path, _unpadded(plain, case.config.vocab_size)),)


def _layers(plain: str, is_gradient: bool, case: Case) -> Found:
    assert case.config is not None
    row, n_layers = _IN_BLOCKS[plain], case.config.n_layers
    masked = plain == "preatt" and not is_gradient
    places = [
        Place(
            path_of(f"blocks.{layer}.{path}", is_gradient),
            _part(layer, n_layers, number, len(row.ours), row.side),
            row.axes,
            row.order,
            f"layer {layer} of {n_layers}",
            masked=masked,
        )
        for layer in range(n_layers)
        for number, path in enumerate(row.ours)
    ]
    known = tuple(place for place in places if place.path in case.known)
    return known or Aside("the case has no such gradient")


def _part(
    layer: int, n_layers: int, number: int, count: int, side: int
) -> Callable[[AnyArray], AnyArray]:
    def part(array: AnyArray) -> AnyArray:
        if array.shape[0] != n_layers:
            raise ValueError
        return np.split(array[layer], count, axis=side)[number]

    return part


def _unpadded(plain: str, size: int) -> Callable[[AnyArray], AnyArray]:
    def unpadded(array: AnyArray) -> AnyArray:
        if plain == "wte":
            return array[:size]
        return array[..., :size] if plain in ("logits", "probs") else array

    return unpadded
