"""Cases of attention: heads taken apart and together, masks, and the whole with all its parts.

Sizes differ from each other wherever a mix-up could hide behind equal ones: more keys than queries,
more query heads than key/value heads, and more than one of those. Some queries see no key at all.
"""

from math import sqrt
from typing import Any

import numpy as np

from handformer.axes import BoolArray
from handformer.ops import (
    attention,
    flash_attention,
    masked_attention,
    masked_softmax,
    merge_heads,
    project_heads,
)
from handformer.ops.masks import causal, padding, window
from handformer.selfcheck.ops import Case

Shape = tuple[int, ...]


def cases(rng: np.random.Generator) -> list[Case]:
    """Every op of this family, on inputs drawn from rng."""
    return [
        *_masks(rng),
        *_softmax(rng),
        *_plain(rng),
        *_heads(rng),
        _whole(rng, (), (4, 2, 3, 5, 6), bias=True, rate=0.1, label="groups, bias, dropout"),
        _whole(rng, (), (3, 3, 1, 2, 4), bias=True, rate=0.0, label="no groups, bias"),
        _whole(rng, (2,), (4, 2, 1, 3, 5), bias=False, rate=0.0, label="leading (2,), groups"),
        _whole(
            rng,
            (2, 3),
            (4, 2, 1, 2, 1),
            bias=False,
            rate=0.1,
            label="leading (2, 3), groups, dropout",
        ),
        _blocks(rng, (), (4, 2, 3, 5, 6), 2, "groups, blocks of 2"),
        _blocks(rng, (2,), (3, 3, 5, 7, 2), 3, "leading (2,), blocks of 3"),
        _blocks(rng, (2, 3), (4, 2, 1, 2, 3), 4, "leading (2, 3), groups, one block"),
        *_far(np.random.default_rng(4)),
    ]


def _masks(rng: np.random.Generator) -> list[Case]:
    found = []
    for n_queries, n_keys in ((4, 4), (2, 5), (5, 3)):
        sizes = {"n_queries": n_queries, "n_keys": n_keys}
        label = f"{n_queries} queries, {n_keys} keys"
        found.append(Case(causal, {}, sizes, label))
        found.append(Case(window, {}, {**sizes, "width": 2}, label))
    for leading in ((), (2,), (2, 3)):
        valid = rng.random((*leading, 5)) < 0.6
        found.append(Case(padding, {"valid": valid}, {"n_queries": 4}, f"leading {leading}"))
    return found


def _softmax(rng: np.random.Generator) -> list[Case]:
    return [
        Case(
            masked_softmax,
            {"x": 3 * rng.normal(size=shape), "mask": _visible(rng, shape)},
            label=f"leading {shape[:-1]}",
        )
        for shape in ((5,), (4, 5), (2, 3, 5))
    ]


def _plain(rng: np.random.Generator) -> list[Case]:
    found = []
    for leading, (n_queries, n_keys, d_k) in (
        ((), (3, 5, 4)),
        ((2,), (1, 3, 4)),
        ((2, 3), (1, 4, 2)),
    ):
        arrays = {
            "q": rng.normal(size=(*leading, n_queries, d_k)),
            "k": rng.normal(size=(*leading, n_keys, d_k)),
            "v": rng.normal(size=(*leading, n_keys, d_k)),
        }
        found.append(Case(attention, arrays, {"d_k": d_k}, f"leading {leading}"))
    return found


def _heads(rng: np.random.Generator) -> list[Case]:
    found = []
    n_heads, n_queries, d_k, d_model = 4, 5, 3, 7
    wide = n_heads * d_k
    scalars = {"n_heads": n_heads, "d_k": d_k}
    for leading, biased in (((), True), ((2,), False), ((2, 3), True)):
        label = f"leading {leading}" + ("" if biased else ", no bias")
        for op, x, w in (
            (project_heads, (n_queries, d_model), (d_model, wide)),
            (merge_heads, (n_heads, n_queries, d_k), (wide, d_model)),
        ):
            arrays = {"x": rng.normal(size=(*leading, *x)), "w": rng.normal(size=w)}
            if biased:
                arrays["bias"] = rng.normal(size=w[1])
            found.append(Case(op, arrays, scalars, label))
    return found


def _whole(
    rng: np.random.Generator, leading: Shape, sizes: Shape, *, bias: bool, rate: float, label: str
) -> Case:
    n_heads, n_kv_heads, n_queries, n_keys, d_k = sizes
    scores = (*leading, n_heads, n_queries, n_keys)
    keep = rng.random(scores) >= rate
    if rate:
        keep[..., 0] = False  # at these sizes chance alone may drop nothing
    arrays: dict[str, Any] = {
        "q": rng.normal(size=(*leading, n_heads, n_queries, d_k)),
        "k": rng.normal(size=(*leading, n_kv_heads, n_keys, d_k)),
        "v": rng.normal(size=(*leading, n_kv_heads, n_keys, d_k)),
        "mask": _visible(rng, scores),
        "keep": keep,
    }
    if bias:
        arrays["bias"] = rng.normal(size=(n_heads, n_queries, n_keys))
    group = n_heads // n_kv_heads
    scalars = {"rate": rate, "d_k": d_k, "group": group, "n_kv_heads": n_kv_heads}
    return Case(masked_attention, arrays, scalars, label)


def _blocks(rng: np.random.Generator, leading: Shape, sizes: Shape, block: int, label: str) -> Case:
    """The whole without its bias and dropout, in blocks; one of them is hidden wholly."""
    whole = _whole(rng, leading, sizes, bias=False, rate=0.0, label=label)
    arrays = {name: whole.arrays[name] for name in ("q", "k", "v", "mask")}
    if block < sizes[2]:
        arrays["mask"][..., :block, :block] = False
    scalars = {name: whole.scalars[name] for name in ("d_k", "group", "n_kv_heads")}
    return Case(flash_attention, arrays, {**scalars, "block": block}, label)


def _far(rng: np.random.Generator) -> list[Case]:
    """Scores about 120 and -120, beyond exp's range: each row needs its own maximum."""
    label, leading, sizes = "beyond exp's range", (2,), (4, 2, 4, 5, 3)
    found = [
        _whole(rng, leading, sizes, bias=False, rate=0.0, label=label),
        _blocks(rng, leading, sizes, 2, label),
    ]
    for case in found:
        q, k = case.arrays["q"], case.arrays["k"]
        k[..., 0] = 1
        q[..., 0] = 120 * sqrt(case.scalars["d_k"]) * np.array([1, -1, 1, -1])
    return found


def _visible(rng: np.random.Generator, shape: Shape) -> BoolArray:
    """A mask in which about a third of the entries is hidden, and every third row whole."""
    mask = rng.random(shape) < 0.7
    mask[..., -1] = True
    mask.reshape(-1, shape[-1])[1::3] = False
    return mask
