"""Attention that doesn't write its scores, compiled: products of blocks, and one pass between them.

A head at a time, so that its block of scores stays in cache; the same room serves all of them. What
the mask shows is looked at once for all the heads that share it. Along its edge, blocks are cut to
the keys and queries that see each other; elsewhere a few meet as one, which the products like.
"""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

import numpy as np

from handformer.axes import Array, BoolArray
from handformer.fast.compiled import compiled, empty_by_place, known
from handformer.fast.exponential import exp
from handformer.fast.matmul import matmul
from handformer.fast.memory import empty
from handformer.ops import flash_attention as plain
from handformer.ops.flash_attention import BLOCK, Backward, Forward

__all__ = ["Backward", "Forward", "backward", "forward"]

TALL, WIDE = 2, 2  # blocks of queries, and of keys, that meet at once
FINE = 3  # parts of a block of keys that are looked at one by one where a mask hides some of it


@compiled
def _weigh(scores: Array, seen: BoolArray, top: Array, total: Array, context: Array) -> None:
    """Scores become weights under the maximum so far; total and context follow a new maximum.

    seen is empty where every query sees every key.
    """
    kind = scores.dtype.type
    zero, hidden = kind(0), kind(-np.inf)
    for i in range(scores.shape[0]):
        if seen.size:
            for j in range(scores.shape[1]):
                scores[i, j] = scores[i, j] if seen[i, j] else hidden
        higher = top[i]
        for j in range(scores.shape[1]):
            higher = scores[i, j] if scores[i, j] > higher else higher
        taken = zero if higher == hidden else higher
        added = zero
        for j in range(scores.shape[1]):
            e = exp(scores[i, j] - taken)
            scores[i, j] = e
            added += e
        shrink = exp(top[i] - taken)
        for c in range(context.shape[1]):
            context[i, c] *= shrink
        total[i] = total[i] * shrink + added
        top[i] = higher


@compiled
def _weigh_again(
    scores: Array, d_attn: Array, seen: BoolArray, log_total: Array, d_log_total: Array
) -> None:
    """Scores become weights again, and d_attn becomes d_scores; seen as in `_weigh`."""
    hidden = scores.dtype.type(-np.inf)
    for i in range(scores.shape[0]):
        if seen.size:
            for j in range(scores.shape[1]):
                scores[i, j] = scores[i, j] if seen[i, j] else hidden
        taken, sent = log_total[i], d_log_total[i]
        for j in range(scores.shape[1]):
            attn = exp(scores[i, j] - taken)
            scores[i, j] = attn
            d_attn[i, j] = attn * (d_attn[i, j] + sent)


def forward(q: Array, k: Array, v: Array, mask: BoolArray, block: int = BLOCK) -> Forward:
    """Attend from q (..., h, t, d_k) to k and v (..., g, s, d_k); g divides h.

    mask is broadcast against (..., h, t, s), and is true where the query t may see the key s.
    Not more than 2 `block` queries and 2 `block` keys of a head meet at once.
    """
    if not known(q, k, v):
        return plain.forward(q, k, v, mask, block)
    log_total, context = empty(q.shape[:-1], q.dtype), empty_by_place(q)
    room, scale = _room(q, k, block), q.dtype.type(1 / sqrt(q.shape[-1]))
    for head in _heads(q, k, mask, block):
        k_, v_ = k[head.key_place], v[head.key_place]
        for rows, met in head.meetings:
            n = rows.stop - rows.start
            q_ = np.multiply(q[head.place][rows], scale, out=room.queries[:n])
            top, total, summed = room.top[:n], room.total[:n], room.summed[:n]
            top[:], total[:], summed[:] = -np.inf, 0, 0
            for part, keys, seen in met:
                scores = matmul(q_[part], k_[keys].T, _shaped(room.scores, part, keys))
                _weigh(scores, _visible(seen, room), top[part], total[part], summed[part])
                matmul(scores, v_[keys], summed[part], plus=summed[part])
            empty_row = total == 0
            top[empty_row], total[empty_row] = 0, 1
            np.divide(summed, total[:, None], out=context[head.place][rows])
            np.add(top, np.log(total), out=log_total[head.place][rows])
    return Forward(log_total, context)


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
    if not known(d_context, q, k, v, log_total, context):
        return plain.backward(d_context, q, k, v, mask, log_total, context, block)
    d_log_total = empty(q.shape[:-1], q.dtype)
    np.einsum("...c,...c->...", d_context, context, out=d_log_total)
    np.negative(d_log_total, out=d_log_total)
    d_q, d_k, d_v = empty_by_place(q), empty_by_place(k), empty_by_place(v)
    d_k[...], d_v[...] = 0, 0
    room, scale = _room(q, k, block), q.dtype.type(1 / sqrt(q.shape[-1]))
    for head in _heads(q, k, mask, block):
        k_, v_, d_k_, d_v_ = (x[head.key_place] for x in (k, v, d_k, d_v))
        for rows, met in head.meetings:
            n = rows.stop - rows.start
            q_ = np.multiply(q[head.place][rows], scale, out=room.queries[:n])
            d_context_, summed = d_context[head.place][rows], room.summed[:n]
            room.top[:n] = log_total[head.place][rows]
            room.total[:n] = d_log_total[head.place][rows]
            summed[:] = 0
            for part, keys, seen in met:
                sent, asked, visible = d_context_[part], q_[part], _visible(seen, room)
                attn = matmul(asked, k_[keys].T, _shaped(room.scores, part, keys))
                d_scores = matmul(sent, v_[keys].T, _shaped(room.d_scores, part, keys))
                _weigh_again(attn, d_scores, visible, room.top[part], room.total[part])
                matmul(attn.T, sent, d_v_[keys], plus=d_v_[keys])
                matmul(d_scores.T, asked, d_k_[keys], plus=d_k_[keys])
                matmul(d_scores, k_[keys], summed[part], plus=summed[part])
            np.multiply(summed, scale, out=d_q[head.place][rows])
    return Backward(d_log_total, d_q, d_k, d_v)


class _Meeting(NamedTuple):
    """Some queries of a block and some keys, and their mask where it hides any of them."""

    part: slice
    keys: slice
    seen: BoolArray | None


class _Head(NamedTuple):
    """Where a query head is, and its key/value head; each block of queries with what it sees."""

    place: tuple[int, ...]
    key_place: tuple[int, ...]
    meetings: list[tuple[slice, list[_Meeting]]]


def _heads(q: Array, k: Array, mask: BoolArray, block: int) -> Iterator[_Head]:
    group = q.shape[-3] // k.shape[-3]
    every = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
    looked_at: dict[int, list[tuple[slice, list[_Meeting]]]] = {}
    for place in np.ndindex(q.shape[:-2]):
        seen = every[place]
        where = seen.__array_interface__["data"][0]
        if where not in looked_at:
            looked_at[where] = list(_meetings(seen, block))
        yield _Head(place, (*place[:-1], place[-1] // group), looked_at[where])


def _meetings(seen: BoolArray, block: int) -> Iterator[tuple[slice, list[_Meeting]]]:
    """Of a mask (t, s): some queries after the other, each with the keys that they see."""
    fine = max(1, block // FINE)
    for rows in plain.cuts(seen.shape[0], TALL * block):
        here = seen[rows]
        met: list[_Meeting] = []
        for keys in plain.cuts(seen.shape[1], block):
            if not here[:, keys].any():
                continue
            if here[:, keys].all():
                _meet(met, here, slice(0, len(here)), keys, WIDE * block)
                continue
            for start in range(keys.start, keys.stop, fine):
                few = slice(start, min(start + fine, keys.stop))
                seeing = np.flatnonzero(here[:, few].any(axis=1))
                if seeing.size:
                    part = slice(int(seeing[0]), int(seeing[-1]) + 1)
                    _meet(met, here, part, few, WIDE * block)
        yield rows, met


def _meet(met: list[_Meeting], here: BoolArray, part: slice, keys: slice, most: int) -> None:
    """One more meeting; or the last one with more keys, if they are its neighbours in all ways."""
    whole = bool(here[part, keys].all())
    if met and met[-1].part == part and (met[-1].seen is None) is whole:
        before = met[-1].keys
        if before.stop == keys.start and keys.stop - before.start <= most:
            met.pop()
            keys = slice(before.start, keys.stop)
    met.append(_Meeting(part, keys, None if whole else here[part, keys]))


class _Room(NamedTuple):
    """Memory for one meeting of queries and keys, used again by the next."""

    scores: Array
    d_scores: Array
    seen: BoolArray
    queries: Array
    summed: Array
    top: Array
    total: Array


def _room(q: Array, k: Array, block: int) -> _Room:
    (n_queries, d_k), n_keys = q.shape[-2:], k.shape[-2]
    n, width = min(TALL * block, n_queries), min(WIDE * block, n_keys)
    scores, d_scores = (empty((n * width,), q.dtype) for _ in range(2))
    queries, summed = (empty((n, d_k), q.dtype) for _ in range(2))
    top, total = (empty((n,), q.dtype) for _ in range(2))
    seen = np.empty(n * width, np.bool_)
    return _Room(scores, d_scores, seen, queries, summed, top, total)


def _shaped(flat: Array, part: slice, keys: slice) -> Array:
    """The first of these entries as a row for each query of a part, of so many keys."""
    n, width = part.stop - part.start, keys.stop - keys.start
    return flat[: n * width].reshape(n, width)


def _visible(seen: BoolArray | None, room: _Room) -> BoolArray:
    """A mask as kernels take it: contiguous, and empty where nothing is hidden."""
    if seen is None:
        return room.seen[:0].reshape(0, 0)
    shown = room.seen[: seen.size].reshape(seen.shape)
    shown[:] = seen
    return shown
