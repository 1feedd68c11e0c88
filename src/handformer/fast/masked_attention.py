"""Attention of many heads, compiled: products by block, and a softmax in one pass.

What a projection follows (context, d_q, d_k, d_v) lies in memory as (b, t, h, c), so that setting
the heads side by side copies nothing. Where a mask hides whole blocks of keys, as a causal one
does, the products that would only add up zeros are left out (so what isn't finite among the hidden
values spreads to fewer places); scores and d_attn have entries there all the same.
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np

from handformer.axes import Array, BoolArray, IntArray
from handformer.fast import dropout, row_attention, softmax
from handformer.fast.compiled import compiled, empty_by_place, known, rows
from handformer.fast.masked_softmax import row_by_row, softmax_rows
from handformer.fast.matmul import matmul
from handformer.fast.memory import empty
from handformer.ops import masked_attention as plain
from handformer.ops.masked_attention import Backward, Forward

BLOCK = 64  # queries, or keys, that are multiplied together where blocks are left out


@compiled
def _add_bias(x: Array, bias: Array, bias_row: IntArray) -> None:
    for row in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[row, j] += bias[bias_row[row], j]


@compiled
def _ends(attn: Array, ends: IntArray) -> None:
    """One more than the last key that each query sees, in any of the matrices attn (n * t, s)."""
    ends[:] = 0
    for row in range(attn.shape[0]):
        query = row % ends.size
        more = 0  # a sum, which is vectorised; to stop at the first wouldn't be
        for s in range(ends[query], attn.shape[1]):
            more += attn[row, s] != 0
        if more:
            at = attn.shape[1]
            while attn[row, at - 1] == 0:
                at -= 1
            ends[query] = at


def forward(
    q: Array, k: Array, v: Array, mask: BoolArray, bias: Array | None, keep: BoolArray, rate: float
) -> Forward:
    """Attend from q (..., h, t, d_k) to k and v (..., g, s, d_k); g divides h.

    mask and keep are broadcast against (..., h, t, s), bias against (h, t, s) or None.
    """
    if not known(q, k, v, bias):
        return plain.forward(q, k, v, mask, bias, keep, rate)
    one = row_attention.forward(q, k, v, mask, bias, rate)
    if one is not None:
        return one
    shape = (*q.shape[:-1], k.shape[-2])
    scores, attn, context = empty(shape, q.dtype), empty(shape, q.dtype), empty_by_place(q)
    scaled = q * q.dtype.type(1 / sqrt(q.shape[-1]))
    for of_q, of_scores in _groups(k, scaled, scores):
        matmul(of_q, k.swapaxes(-1, -2), of_scores)
    if bias is not None:
        _add_bias(rows(scores), *row_by_row(bias, shape))
    softmax_rows(rows(scores), *row_by_row(mask, shape), rows(attn))
    attn_kept = dropout.forward(attn, keep, rate)
    ends = _seen(attn_kept)
    for of_attn, of_context in _groups(k, attn_kept, context):
        _times(of_attn, v, of_context, ends)
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
    if not known(d_context, q, k, v, attn, attn_kept):
        return plain.backward(d_context, q, k, v, attn, attn_kept, keep, rate)
    d_attn_kept = empty(attn.shape, attn.dtype)
    d_v, d_q, d_k = empty_by_place(v), empty_by_place(q), empty_by_place(k)
    ends = _seen(attn_kept)
    for number, parts in enumerate(_groups(k, d_context, d_attn_kept, attn_kept)):
        of_d_context, of_d_attn_kept, of_attn_kept = parts
        matmul(of_d_context, v.swapaxes(-1, -2), of_d_attn_kept)
        _transposed_times(of_attn_kept, of_d_context, d_v, ends, more=number > 0)
    d_attn = dropout.backward(d_attn_kept, keep, rate)
    d_scores = softmax.backward(d_attn, attn)
    ends = _seen(attn) if rate else ends
    for number, parts in enumerate(_groups(k, d_scores, q, d_q)):
        of_d_scores, of_q, of_d_q = parts
        _times(of_d_scores, k, of_d_q, ends)
        _transposed_times(of_d_scores, of_q, d_k, ends, more=number > 0)
    scale = q.dtype.type(1 / sqrt(q.shape[-1]))
    d_q *= scale
    d_k *= scale
    return Backward(d_attn_kept, d_attn, d_scores, d_q, d_k, d_v)


def _groups(k: Array, *heads: Array) -> Iterator[tuple[Array, ...]]:
    """Views of arrays (..., h, t, c) with one query head for each of k's heads: (..., g, t, c)."""
    n_kv_heads = k.shape[-3]
    group = heads[0].shape[-3] // n_kv_heads
    cut = [x.reshape(*x.shape[:-3], n_kv_heads, group, *x.shape[-2:]) for x in heads]
    for number in range(group):
        yield tuple(x[..., number, :, :] for x in cut)


def _seen(attn: Array) -> IntArray | None:
    """Up to which key each query sees, in any head; None where no block can be left out."""
    if min(attn.shape[-2:]) < 2 * BLOCK:
        return None
    ends = np.empty(attn.shape[-2], np.int64)
    _ends(rows(attn), ends)
    return np.maximum.accumulate(ends)


def _times(attn: Array, v: Array, out: Array, ends: IntArray | None) -> None:
    """attn @ v, by blocks of queries, each with the keys that it sees."""
    if ends is None:
        matmul(attn, v, out)
        return
    for first in range(0, len(ends), BLOCK):
        end = ends[first : first + BLOCK][-1]
        part = np.s_[..., first : first + BLOCK, :]
        matmul(attn[part][..., :end], v[..., :end, :], out[part])


def _transposed_times(
    attn: Array, rows_q: Array, out: Array, ends: IntArray | None, *, more: bool
) -> None:
    """attn^T @ rows_q, by blocks of keys, each with the queries that see it; `more`: added."""
    turned = attn.swapaxes(-1, -2)
    if ends is None:
        matmul(turned, rows_q, out, plus=out if more else None)
        return
    for first in range(0, out.shape[-2], BLOCK):
        start = int(np.searchsorted(ends, first, side="right"))
        part = np.s_[..., first : first + BLOCK, :]
        matmul(
            turned[part][..., start:], rows_q[..., start:, :], out[part],
            plus=out[part] if more else None,
        )  # fmt: skip
