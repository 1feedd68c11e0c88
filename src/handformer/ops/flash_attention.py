"""Attention that doesn't write its scores: block by block, in memory that grows with the context.

`masked_attention` keeps three arrays (h, t, s): sixteen times as much at four times the context.
Here a block of queries meets the keys a block at a time, and of the softmax one number a row stays.

Forward    a row's maximum and total aren't known before its last key. So both run along: where a
           block brings a higher maximum, what was summed so far is made smaller by
           exp(old - new), context too. The weights are divided by the total only in the end.
Backward   a block of weights is computed again from the one number that was kept,
           attn = exp(scores - log_total). Seen so, a score enters its weight twice: directly, and
           through log_total, whose own slope along a score is attn again. Hence
           d_scores = attn * d_attn + attn * d_log_total, with d_log_total = -sum(s, attn * d_attn).
           That sum needs no weights: context is sum(s, attn * v), so it is context . d_context.
Kept       q, k, v, context, and log_total: a number for each row, no array (h, t, s).
Delicate   a query that sees no key has log_total 0 and context 0, and sends no gradient anywhere.
           A block that the mask hides wholly isn't computed: under a causal mask that is nearly
           half of them. The mask may be a view that repeats itself, and is never copied whole.
Source     Milakov, Gimelshein 2018 (the running maximum); Rabe, Staats 2021; Dao et al. 2022,
           "FlashAttention", algorithms 1 and 4.
"""

from math import sqrt
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array, BoolArray
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    scores[b,h,t,s]   := sum(c, q[b,h,t,c] * k[b,h // group,s,c]) / sqrt(d_k)
    top[b,h,t]        := max(s, where(mask[b,h,t,s], scores[b,h,t,s], -inf))
    total[b,h,t]      := sum(s, where(mask[b,h,t,s], exp(scores[b,h,t,s] - top[b,h,t]), 0))
    log_total[b,h,t]   = where(total[b,h,t] > 0, top[b,h,t] + log(total[b,h,t]), 0)
    attn[b,h,t,s]     := where(mask[b,h,t,s], exp(scores[b,h,t,s] - log_total[b,h,t]), 0)
    context[b,h,t,c]   = sum(s, attn[b,h,t,s] * v[b,h // group,s,c])
    d_attn[b,h,t,s]   := sum(c, d_context[b,h,t,c] * v[b,h // group,s,c])
    d_log_total[b,h,t] = -sum(c, d_context[b,h,t,c] * context[b,h,t,c])
    d_scores[b,h,t,s] := attn[b,h,t,s] * (d_attn[b,h,t,s] + d_log_total[b,h,t])
    d_q[b,h,t,c] = sum(s, d_scores[b,h,t,s] * k[b,h // group,s,c]) / sqrt(d_k)
    d_k[b,g,s,c] = sum(h, t, where(h // group == g, d_scores[b,h,t,s] * q[b,h,t,c], 0)) / sqrt(d_k)
    d_v[b,g,s,c] = sum(h, t, where(h // group == g, attn[b,h,t,s] * d_context[b,h,t,c], 0))
""")

BLOCK = 192  # queries, and keys, that meet at once

Kind = TypeVar("Kind", bound=np.generic)


class Forward(NamedTuple):
    """log_total (..., h, t), the logarithm of each softmax's denominator; context (..., h, t, d_k).

    log_total is 0 where a query sees no key.
    """

    log_total: Array
    context: Array


class Backward(NamedTuple):
    """Gradients of log_total (..., h, t), q (..., h, t, d_k), k and v (..., g, s, d_k)."""

    d_log_total: Array
    d_q: Array
    d_k: Array
    d_v: Array


def forward(q: Array, k: Array, v: Array, mask: BoolArray, block: int = BLOCK) -> Forward:
    """Attend from q (..., h, t, d_k) to k and v (..., g, s, d_k); g divides h.

    mask is broadcast against (..., h, t, s), and is true where the query t may see the key s. Not
    more than `block` queries and `block` keys of a head meet at once.
    """
    seen = _seen(mask, q, k)
    rows = _group(q / sqrt(q.shape[-1]), k)
    keys, values = k[..., None, :, :], v[..., None, :, :]  # one for the heads of a group
    parts = [
        _attend(rows[..., cut, :], keys, values, seen[..., cut, :], block)
        for cut in cuts(q.shape[-2], block)
    ]
    log_total = np.concatenate([part.log_total for part in parts], axis=-1)
    context = np.concatenate([part.context for part in parts], axis=-2)
    return Forward(log_total.reshape(q.shape[:-1]), context.reshape(q.shape))


def _attend(q: Array, k: Array, v: Array, seen: BoolArray, block: int) -> Forward:
    """A block of queries, already scaled, passes along all the keys."""
    top = np.full(q.shape[:-1], -np.inf, q.dtype)
    total, context = np.zeros_like(top), np.zeros_like(q)
    for cut in cuts(k.shape[-2], block):
        visible = seen[..., cut]
        if visible.any():
            scores = np.where(visible, q @ k[..., cut, :].swapaxes(-1, -2), -np.inf)
            higher = np.maximum(top, scores.max(axis=-1))
            taken = np.where(higher == -np.inf, 0, higher)  # -inf - (-inf) is NaN
            e, shrink = np.exp(scores - taken[..., None]), np.exp(top - taken)
            total = total * shrink + e.sum(axis=-1)
            context = context * shrink[..., None] + e @ v[..., cut, :]
            top = higher
    total = np.where(total == 0, 1, total)
    log_total = np.where(top == -np.inf, 0, top) + np.log(total)
    return Forward(log_total, context / total[..., None])


def backward(
    d_context: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: BoolArray,
    log_total: Array,
    context: Array,
    block: int = BLOCK,
) -> Backward:
    """Gradients of every kept value from d_context (..., h, t, d_k)."""
    d_log_total = -(d_context * context).sum(axis=-1)
    scale = 1 / sqrt(q.shape[-1])
    d_q, d_k, d_v = _pass_back(
        _group(d_context, k), _group(q * scale, k), k[..., None, :, :], v[..., None, :, :],
        _seen(mask, q, k), _group(log_total[..., None], k), _group(d_log_total[..., None], k),
        block,
    )  # fmt: skip
    return Backward(d_log_total, d_q.reshape(q.shape) * scale, d_k.sum(axis=-3), d_v.sum(axis=-3))


def _pass_back(
    d_context: Array,
    q: Array,
    k: Array,
    v: Array,
    seen: BoolArray,
    log_total: Array,
    d_log_total: Array,
    block: int,
) -> tuple[Array, Array, Array]:
    """Each block's part of d_q, d_k and d_v, those of k and v for each head on its own."""
    heads = q.shape[:-2]
    d_q = np.zeros_like(q)
    d_k, d_v = (np.zeros((*heads, *part.shape[-2:]), part.dtype) for part in (k, v))
    for rows in cuts(q.shape[-2], block):
        for keys in cuts(k.shape[-2], block):
            visible = seen[..., rows, keys]
            if visible.any():
                q_, d_context_ = q[..., rows, :], d_context[..., rows, :]
                k_, v_ = k[..., keys, :], v[..., keys, :]
                scores = q_ @ k_.swapaxes(-1, -2)
                attn = np.exp(np.where(visible, scores - log_total[..., rows, :], -np.inf))
                d_attn = d_context_ @ v_.swapaxes(-1, -2)
                d_scores = attn * (d_attn + d_log_total[..., rows, :])
                d_v[..., keys, :] += attn.swapaxes(-1, -2) @ d_context_
                d_q[..., rows, :] += d_scores @ k_
                d_k[..., keys, :] += d_scores.swapaxes(-1, -2) @ q_
    return d_q, d_k, d_v


def _seen(mask: BoolArray, q: Array, k: Array) -> BoolArray:
    """The mask as a view (..., g, h / g, t, s)."""
    return _group(np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2])), k)


def _group(x: NDArray[Kind], k: Array) -> NDArray[Kind]:
    """(..., h, t, z) as (..., g, h / g, t, z): the heads that read one key/value head together."""
    *leading, n_heads, n_queries, size = x.shape
    return x.reshape(*leading, k.shape[-3], n_heads // k.shape[-3], n_queries, size)


def cuts(n: int, block: int) -> list[slice]:
    """0 .. n - 1 in pieces of at most `block`; of nothing, one empty piece."""
    return [slice(start, min(start + block, n)) for start in range(0, max(n, 1), block)]
