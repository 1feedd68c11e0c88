"""Attention of many heads: with a mask, grouped keys and values, a bias on the scores, and dropout.

Forward    each query head reads the keys and values of head h // group: `group` neighbours share
           one. The bias (ALiBi's, say) is added to the scaled scores, then the mask hides keys from
           the softmax, then dropout takes whole weights away: the rest of a row no longer sums to
           one.
Backward   as in `attention`, with dropout's step between context and softmax; the softmax's own
           derivative takes the weights before the dropout. A key's gradient is the sum over all
           queries of all the heads that read it.
Kept       q, k, v, keep, attn (for the softmax) and attn_kept (for the values).
Delicate   a query that sees no key has weights 0, context 0, and sends no gradient anywhere. The
           scores are kept as they are before the mask, so they are finite.
Source     Vaswani et al. 2017, section 3.2; Ainslie et al. 2023 (grouped heads); Press et al. 2022
           (the bias).
"""

from math import sqrt
from typing import NamedTuple

from handformer.axes import Array, BoolArray
from handformer.formula import Sheet
from handformer.ops import dropout, masked_softmax, softmax

FORMULAS = (
    Sheet.parse("""
        scores[b,h,t,s]      = sum(c, q[b,h,t,c] * k[b,h // group,s,c]) / sqrt(d_k) + bias[h,t,s]
        context[b,h,t,c]     = sum(s, attn_kept[b,h,t,s] * v[b,h // group,s,c])
        d_attn_kept[b,h,t,s] = sum(c, d_context[b,h,t,c] * v[b,h // group,s,c])
        d_q[b,h,t,c] = sum(s, d_scores[b,h,t,s] * k[b,h // group,s,c]) / sqrt(d_k)
        d_k[b,g,s,c] = sum(h, t, where(h // group == g, d_scores[b,h,t,s] * q[b,h,t,c], 0))
            / sqrt(d_k)
        d_v[b,g,s,c] = sum(h, t, where(h // group == g, attn_kept[b,h,t,s] * d_context[b,h,t,c], 0))
    """)
    + masked_softmax.FORMULAS.rename(x="scores", y="attn", b="b h t", j="s", i="r")
    + dropout.FORMULAS.rename(x="attn", y="attn_kept", b="b h t s")
).order("scores top total attn attn_kept context d_attn_kept d_attn d_scores d_q d_k d_v")


class Forward(NamedTuple):
    """scores, attn and attn_kept (..., h, t, s), context (..., h, t, d_k)."""

    scores: Array
    attn: Array
    attn_kept: Array
    context: Array


class Backward(NamedTuple):
    """Gradients of weights and scores (..., h, t, s), q (..., h, t, d_k), k, v (..., g, s, d_k)."""

    d_attn_kept: Array
    d_attn: Array
    d_scores: Array
    d_q: Array
    d_k: Array
    d_v: Array


def forward(
    q: Array, k: Array, v: Array, mask: BoolArray, bias: Array | None, keep: BoolArray, rate: float
) -> Forward:
    """Attend from q (..., h, t, d_k) to k and v (..., g, s, d_k); g divides h.

    mask and keep are broadcast against (..., h, t, s), bias against (h, t, s) or None.
    """
    n_kv_heads = k.shape[-3]
    scores = _ungroup(_group(q / sqrt(q.shape[-1]), n_kv_heads) @ k.swapaxes(-1, -2), q)
    if bias is not None:
        scores = scores + bias
    attn = masked_softmax.forward(scores, mask)
    attn_kept = dropout.forward(attn, keep, rate)
    context = _ungroup(_group(attn_kept, n_kv_heads) @ v, q)
    return Forward(scores, attn, attn_kept, context)


def backward(
    d_context: Array,
    q: Array,
    k: Array,
    v: Array,
    attn: Array,
    attn_kept: Array,
    keep: BoolArray,
    rate: float,
) -> Backward:
    """Gradients of every value from d_context (..., h, t, d_k)."""
    scale = 1 / sqrt(q.shape[-1])
    n_kv_heads = k.shape[-3]
    rows_d_context = _group(d_context, n_kv_heads)
    d_attn_kept = _ungroup(rows_d_context @ v.swapaxes(-1, -2), q)
    d_v = _group(attn_kept, n_kv_heads).swapaxes(-1, -2) @ rows_d_context
    d_attn = dropout.backward(d_attn_kept, keep, rate)
    d_scores = softmax.backward(d_attn, attn)
    rows_d_scores = _group(d_scores, n_kv_heads)
    d_q = _ungroup(rows_d_scores @ k, q) * scale
    d_k = rows_d_scores.swapaxes(-1, -2) @ _group(q, n_kv_heads) * scale
    return Backward(d_attn_kept, d_attn, d_scores, d_q, d_k, d_v)


def _group(x: Array, n_kv_heads: int) -> Array:
    """(..., h, t, z) as (..., g, group * t, z): all queries of a group are rows of one matrix.

    So they meet their key/value head in one product, which sums over them in its gradient.
    """
    *leading, n_heads, n_queries, size = x.shape
    return x.reshape(*leading, n_kv_heads, n_heads // n_kv_heads * n_queries, size)


def _ungroup(rows: Array, q: Array) -> Array:
    """(..., g, group * t, z) as (..., h, t, z), with the heads and positions of q."""
    return rows.reshape(*q.shape[:-1], rows.shape[-1])
