"""Attention forward: q, k, v, scores, weights, context, out."""

from typing import Any

import numpy as np

from tests.checking.theirs import dropout, halves, projections, rotary, softmax
from tests.checking.theirs.program import At


def forward(
    at: At, x: Any, mask: Any, *, memory: Any = None, unnormed: Any = None, bias: Any = 0
) -> Any:
    """out (b, t, i). mask (b, t, s); memory (b, s, i) is what cross-attention looks at."""
    at.note("across", memory is not None)
    at.note("x", x)
    at.note("memory", x if memory is None else memory)
    q, k, v = projections.run(at, x, at["memory"], unnormed)
    q, k, v = _positioned(at, q, k, v)
    every_head = np.broadcast_to(mask[:, None], (len(x), at.case.heads, *mask.shape[1:]))
    at.put("mask", every_head)
    scores = _scores(at, q, per_head(at, k)) + bias
    at.put("scores", softmax.stored(at, scores, every_head))
    attn = softmax.weights(at, dropout.of_scores(at, scores), every_head)
    if at.wrong("DUMP-4:scores hold the weights"):
        at.note("scores", scores)
        at.put("scores", attn)
    kept = dropout.weights(at, attn)
    context = _context(at, kept, v, q, k)
    return at.put("out", _merged(at, context))


def _positioned(at: At, q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
    if at.case.family != "llama":
        return q, k, v
    cos, sin = rotary.table(at, at.program.values["positions"])
    q_rot = at.put("q_rot", rotary.turned(at, q, cos, sin))
    if at.wrong("SCALE-4:twice, q written scaled", "SCALED:in q, and so written"):
        at.note("q_rot", rotary.turned(at, at["q"], cos, sin))
    k_rot = at.put("k_rot", rotary.turned(at, k, cos, sin))
    if at.wrong("ROPE-9:v"):
        v = rotary.turned(at, v, cos, sin)
    elif at.wrong("ROPE-9:v, and so written"):
        v = at.put("v", rotary.turned(at, v, cos, sin))
    if at.wrong("ROPE-10"):
        k_rot = k
    return q_rot, k_rot, v


def per_head(at: At, x: Any) -> Any:
    """(b, g, s, c) to (b, h, s, c): each group's head for all of its query heads."""
    heads, groups = at.case.heads, x.shape[1]
    if groups == heads:
        return x
    times = heads // groups
    if at.wrong("HEAD-5"):
        return np.tile(x, (1, times, 1, 1))
    if at.wrong("HEAD-6"):
        rows, _, size, width = x.shape
        return np.repeat(x, times, axis=2).reshape(rows, heads, size, width)
    return np.repeat(x, times, axis=1)


def _scores(at: At, q: Any, k: Any) -> Any:
    width, size = at.case.width, q.shape[2]
    root = width**0.5
    if at.wrong("SCALED:in q"):
        return at.product(q / root, k.swapaxes(-1, -2))
    if at.wrong("SCALED:both by the fourth root"):
        return at.product(q / root**0.5, k.swapaxes(-1, -2) / root**0.5)
    if at.wrong("SCALED:in q, and so written"):
        return at.product(q, k.swapaxes(-1, -2))
    if at.wrong("SCORES:k by q"):
        return at.product(k, q.swapaxes(-1, -2)).swapaxes(-1, -2) / root
    if size == k.shape[2] and at.wrong("SCORE-1"):
        return at.product(k, q.swapaxes(-1, -2)) / root
    if at.case.heads == size == width and at.wrong("SCORE-2"):
        return np.stack([one @ other.T for one, other in zip(q, k, strict=True)]) / root
    product = at.product(q, k.swapaxes(-1, -2))
    if at.wrong("SCALE-6"):
        return halves.float16(product) / root
    if at.wrong("SCALE-2", "SM-6:scaled afterwards"):
        return product
    divisors = {
        "SCALE-1": float(at.case.config["d_model"]) ** 0.5,
        "SCALE-3": 1 / root,
        "SCALE-4:d_k": float(width),
        "SCALE-4:twice": root * root,
        "SCALE-5:sqrt(T)": size**0.5,
        "SCALE-5:sqrt(H)": at.case.heads**0.5,
        "SCALE-5:8": 8.0,
    }
    made = [divisor for name, divisor in divisors.items() if at.wrong(name)]
    return product / (made[0] if made else root)


def _context(at: At, attn: Any, v: Any, q: Any, k: Any) -> Any:
    v = per_head(at, v)
    if at.wrong("CTX-1:of the keys"):
        v = per_head(at, k)
    if attn.shape[-1] == attn.shape[-2] and at.wrong("CTX-1:transposed"):
        attn = attn.swapaxes(-1, -2)
    with np.errstate(invalid="ignore"):
        context = at.product(attn, v)
    return at.put("context", dropout.of_context(at, context))


def _merged(at: At, context: Any) -> Any:
    rows, heads, size, width = context.shape
    w = at["w_o"]
    b = at["b_o"] if at.has("b_o") else 0
    if at.has("b_o") and at.wrong("QKV-5:o"):
        b = 0
    if at.wrong("HEAD-2"):
        merged = context.reshape(rows, size, heads * width)
    elif at.wrong("HEAD-4:mean"):
        merged = np.tile(context.mean(axis=1), heads)
    elif at.wrong("HEAD-4:maximum"):
        merged = np.tile(context.max(axis=1), heads)
    else:
        merged = context.swapaxes(1, 2).reshape(rows, size, heads * width)
    if at.wrong("OUT-1"):
        return merged
    if at.wrong("OUT-2:transposed"):
        w = w.T
    if at.wrong("OUT-2:one block for every head"):
        parts = context @ w[:width, :width]
        return parts.swapaxes(1, 2).reshape(rows, size, heads * width) + b
    with np.errstate(invalid="ignore"):
        if at.wrong("HEAD-4:mean of the outputs"):
            return at.product(merged, w) / heads + b
        return at.product(merged, w) + b
