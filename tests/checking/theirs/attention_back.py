"""Attention backward: from out to x."""

from typing import Any

import numpy as np

from tests.checking.theirs import attention, dropout, linear, rotary, softmax
from tests.checking.theirs.program import At


def backward(at: At, d_out: Any) -> tuple[Any, Any]:
    """d_x and, of cross-attention, d_memory."""
    context = at["context"]
    d_context = at.put(
        "d_context", _split(at, linear.input_back(at, merge(context), d_out, at["w_o"]))
    )
    kept, v = at["attn_kept"], attention.per_head(at, at["v"])
    d_kept = at.put("d_attn_kept", at.product(d_context, v.swapaxes(-1, -2)))
    d_attn = dropout.weights_back(at, d_kept)
    d_scores = at.put("d_scores", _through_softmax(at, d_attn, kept))
    if at.wrong("DUMP-4:d_attn holds d_scores"):
        at.put("d_attn_kept", d_scores)
    _to_heads(at, d_scores)
    _values_back(at, d_context, kept)
    d_x, d_memory = _inputs_back(at)
    _weights_back(at, d_out, merge(context))
    return d_x, d_memory


def merge(x: Any) -> Any:
    """(b, h, t, c) to (b, t, h * c)."""
    rows, heads, size, width = x.shape
    return x.swapaxes(1, 2).reshape(rows, size, heads * width)


def _split(at: At, flat: Any) -> Any:
    rows, size, _ = flat.shape
    heads, width = at.case.heads, at.case.width
    if at.wrong("BA-11:split"):
        return flat.reshape(rows, heads, size, width)
    return flat.reshape(rows, size, heads, width).swapaxes(1, 2)


def _through_softmax(at: At, d_attn: Any, kept: Any) -> Any:
    p = at["attn"]
    root = at.case.width**0.5
    if at.wrong("BA-1"):
        return p * (1 - p) * d_attn
    if at.wrong("BA-2:no sum"):
        return p * d_attn
    if at.wrong("BA-2:sum over queries"):
        return p * (d_attn - (d_attn * p).sum(axis=-2, keepdims=True))
    if at.wrong("BA-3"):
        return d_attn
    if at.number("rate") and at.wrong("BA-6:kept weights"):
        p = kept
    if at.wrong("BA-8"):
        p = softmax.over(at["scores"])
    if at.wrong("SOFTMAX BACK:by the output"):
        context, d_context = at["context"], at["d_context"]
        return p * (d_attn - (context * d_context).sum(axis=-1, keepdims=True))
    if at.wrong("SOFTMAX BACK:by the Jacobian"):
        jacobian = p[..., :, None] * (np.eye(p.shape[-1], dtype=p.dtype) - p[..., None, :])
        return (jacobian @ d_attn[..., None])[..., 0]
    if at.wrong("SOFTMAX BACK:in two terms"):
        along = p * d_attn
        return along - p * along.sum(axis=-1, keepdims=True)
    d_scores = p * (d_attn - (d_attn * p).sum(axis=-1, keepdims=True))
    return d_scores / root if at.wrong("BA-4:in d_scores too") else d_scores


def _to_heads(at: At, d_scores: Any) -> None:
    """d_q and d_k; with rotary positions by way of d_q_rot and d_k_rot."""
    end = "_rot" if at.case.family == "llama" else ""
    q, k = at["q" + end], at["k" + end]
    root = at.case.width**0.5
    if at.wrong("BA-4:forgotten"):
        root = 1.0
    elif at.wrong("BA-4:twice"):
        root = root * root
    d_q = at.product(d_scores, attention.per_head(at, k)) / root
    by_key = d_scores.swapaxes(-1, -2)
    if by_key.shape == d_scores.shape and at.wrong("BA-10:d_k"):
        by_key = d_scores
    d_k = _grouped(at, at.product(by_key, q), k.shape[1]) / root
    at.put(f"d_k{end}", d_k)
    _written(at, f"d_q{end}", d_q)
    if end:
        cos, sin = at["cos"], at["sin"]
        _written(at, "d_q", rotary.back(at, d_q, cos, sin))
        at.put("d_k", rotary.back(at, d_k, cos, sin))


def _written(at: At, name: str, d_q: Any) -> None:
    """Whose q is scaled has the gradient of that."""
    at.note(name, d_q)
    at.put(name, d_q * at.case.width**0.5 if at.wrong("SCALED:in q, and so written") else d_q)


def _values_back(at: At, d_context: Any, kept: Any) -> None:
    by_key = kept.swapaxes(-1, -2)
    if by_key.shape == kept.shape and at.wrong("BA-10:d_v"):
        by_key = kept
    at.put("d_v", _grouped(at, at.product(by_key, d_context), at["v"].shape[1]))


def _grouped(at: At, d: Any, groups: int) -> Any:
    """(b, h, s, c) to (b, g, s, c): what all query heads of a group ask of their one head."""
    rows, heads, size, width = d.shape
    if heads == groups:
        return d
    parts = d.reshape(rows, groups, heads // groups, size, width)
    if at.wrong("BA-9:first head"):
        return parts[:, :, 0]
    if at.wrong("BA-9:last head"):
        return parts[:, :, -1]
    if at.wrong("BA-9:mean"):
        return parts.mean(axis=2)
    if at.wrong("BA-9:by the other divisor"):
        return d.reshape(rows, heads // groups, groups, size, width).sum(axis=1)
    return parts.sum(axis=2)


def _inputs_back(at: At) -> tuple[Any, Any]:
    d = {name: _joined(at, at[f"d_{name}"]) for name in "qkv"}
    cross = at["across"]
    x, memory = at["x"], at["memory"]
    d_q = linear.input_back(at, x, d["q"], at["w_q"])
    d_k, d_v = (linear.input_back(at, memory, d[name], at[f"w_{name}"]) for name in "kv")
    if cross:
        d_memory = at.put("d_memory_k", d_k) + at.put("d_memory_v", d_v)
        if at.wrong("BR-2:of k and v the last"):
            d_memory = d_v
        return at.put("d_x", d_q), at.put("d_memory", d_memory)
    d_x = at.put("d_x_q", d_q) + at.put("d_x_k", d_k) + at.put("d_x_v", d_v)
    if at.wrong("BR-2:of q, k, v the last"):
        d_x = d_v
    return at.put("d_x", d_x), None


def _joined(at: At, d: Any) -> Any:
    rows, heads, size, width = d.shape
    if at.wrong("BA-11:merge"):
        return d.reshape(rows, size, heads * width)
    return merge(d)


def _weights_back(at: At, d_out: Any, merged: Any) -> None:
    for name in "qkv":
        x = at["x"] if name == "q" else at["memory"]
        d = _joined(at, at[f"d_{name}"])
        d_w = linear.weight_back(at, x, d)
        if name == "k" and at.wrong("BW-6"):
            d_w = np.zeros_like(d_w)
        at.put(f"d_w_{name}", d_w)
        if at.has(f"b_{name}"):
            at.put(f"d_b_{name}", linear.bias_back(at, d))
    at.put("d_w_o", linear.weight_back(at, merged, d_out))
    if at.has("b_o"):
        at.put("d_b_o", linear.bias_back(at, d_out))
