"""Attention of one query a row over a long past: a step of generation.

With one query there is nothing to multiply matrices for. Each head reads its keys once, row after
row, and its values once; the softmax between is that of masked_softmax. The keys and values may be
the beginning of a larger memory: their rows are contiguous, whatever lies between two heads.
"""

from math import sqrt

import numpy as np

from handformer.axes import Array, BoolArray
from handformer.fast.compiled import compiled, known
from handformer.fast.masked_softmax import softmax_rows
from handformer.ops.masked_attention import Forward


@compiled
def attend(
    q: Array, k: Array, v: Array, mask: BoolArray, bias: Array | None, scores: Array, attn: Array,
    context: Array,
) -> None:  # fmt: skip
    """scores, attn (b, h, s), context (b, h, c) from q (b, h, c), k, v (b, g, s, c), mask (b, s),
    and bias (h, s) or None.
    """
    kind = q.dtype.type
    scale = kind(1) / kind(sqrt(q.shape[2]))
    group = q.shape[1] // k.shape[1]
    first_row = np.zeros(q.shape[1], np.int64)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            query, keys, out = q[b, h], k[b, h // group], scores[b, h]
            for s in range(keys.shape[0]):
                key = keys[s]
                total = kind(0)
                for c in range(query.size):
                    total += query[c] * key[c]
                out[s] = total * scale
            if bias is not None:
                for s in range(out.size):
                    out[s] += bias[h, s]
        softmax_rows(scores[b], mask[b : b + 1], first_row, attn[b])
        for h in range(q.shape[1]):
            weights, values, total_row = attn[b, h], v[b, h // group], context[b, h]
            total_row[:] = kind(0)
            whole = weights.size - weights.size % 4
            for s in range(0, whole, 4):
                a0, a1, a2, a3 = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
                v0, v1, v2, v3 = values[s], values[s + 1], values[s + 2], values[s + 3]
                for c in range(total_row.size):
                    total_row[c] += (a0 * v0[c] + a1 * v1[c]) + (a2 * v2[c] + a3 * v3[c])
            for s in range(whole, weights.size):
                weight, value = weights[s], values[s]
                for c in range(total_row.size):
                    total_row[c] += weight * value[c]


def forward(
    q: Array, k: Array, v: Array, mask: BoolArray, bias: Array | None, rate: float
) -> Forward | None:
    """What masked_attention gives for q (b, h, 1, d_k); None where this isn't the case."""
    if q.ndim != 4 or q.shape[2] != 1 or rate or not known(q, k, v, bias):
        return None
    batch, n_heads, _, d_k = q.shape
    n_keys = k.shape[2]
    if mask.ndim != 4 or mask.shape[1:] != (1, 1, n_keys):
        return None
    if not (k.strides[3] == k.itemsize == v.strides[3] and k.ndim == v.ndim == 4):
        return None
    scores, attn = np.empty((2, batch, n_heads, n_keys), q.dtype)
    context = np.empty((batch, n_heads, d_k), q.dtype)
    seen = mask.reshape(-1, n_keys)
    attend(
        np.ascontiguousarray(q).reshape(batch, n_heads, d_k), k, v,
        seen if len(seen) == batch else np.repeat(seen, batch, axis=0),
        None if bias is None else bias.reshape(n_heads, n_keys),
        scores, attn, context,
    )  # fmt: skip
    whole = (batch, n_heads, 1, n_keys)
    weights = attn.reshape(whole)
    return Forward(scores.reshape(whole), weights, weights, context[:, :, None, :])
