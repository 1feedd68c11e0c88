"""Scaled dot-product attention, equation 1 of the paper: softmax(q k^T / sqrt(d_k)) v.

Forward    each query is compared with each key; the softmax of a query's row says how much of each
           value to take. Dividing by sqrt(d_k) keeps the scores' variance at 1 for unit-variance q
           and k.
Backward   the product attn v sends d_context to both factors; the softmax turns d_attn into
           d_scores; the product q k^T sends that to q and k, each time with the same 1/sqrt(d_k).
Kept       q, k, v and attn.
Source     Vaswani et al. 2017, section 3.2.1.
"""

from math import sqrt
from typing import NamedTuple

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.ops import softmax

FORMULAS = (
    Sheet.parse("scores[b,t,s] = sum(c, q[b,t,c] * k[b,s,c]) / sqrt(d_k)")
    + softmax.FORMULAS.rename(x="scores", y="attn", b="b t", j="s", i="r")
    + Sheet.parse("""
        context[b,t,c] = sum(s, attn[b,t,s] * v[b,s,c])
        d_attn[b,t,s]  = sum(c, d_context[b,t,c] * v[b,s,c])
        d_q[b,t,c]     = sum(s, d_scores[b,t,s] * k[b,s,c]) / sqrt(d_k)
        d_k[b,s,c]     = sum(t, d_scores[b,t,s] * q[b,t,c]) / sqrt(d_k)
        d_v[b,s,c]     = sum(t, attn[b,t,s] * d_context[b,t,c])
    """)
).order("scores top total attn context d_attn d_scores d_q d_k d_v")


class Forward(NamedTuple):
    """scores and attn (..., t, s), context (..., t, d_k)."""

    scores: Array
    attn: Array
    context: Array


class Backward(NamedTuple):
    """d_attn and d_scores (..., t, s), d_q (..., t, d_k), d_k and d_v (..., s, d_k)."""

    d_attn: Array
    d_scores: Array
    d_q: Array
    d_k: Array
    d_v: Array


def forward(q: Array, k: Array, v: Array) -> Forward:
    """Attend from q (..., t, d_k) to k and v (..., s, d_k)."""
    scores = q @ k.swapaxes(-1, -2) / sqrt(q.shape[-1])
    attn = softmax.forward(scores)
    context = attn @ v
    return Forward(scores, attn, context)


def backward(d_context: Array, q: Array, k: Array, v: Array, attn: Array) -> Backward:
    """Gradients of every value from d_context (..., t, d_k)."""
    scale = 1 / sqrt(q.shape[-1])
    d_attn = d_context @ v.swapaxes(-1, -2)
    d_v = attn.swapaxes(-1, -2) @ d_context
    d_scores = softmax.backward(d_attn, attn)
    d_q = d_scores @ k * scale
    d_k = d_scores.swapaxes(-1, -2) @ q * scale
    return Backward(d_attn, d_scores, d_q, d_k, d_v)
