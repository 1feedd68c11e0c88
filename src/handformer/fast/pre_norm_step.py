"""A whole pre-norm block for the next token of a few rows, in one kernel and without a record.

Generation computes one row at a time, and between two products of a row there is so little to do
that calling some fifteen ops takes longer than their arithmetic. So the kernels of these ops are
called by another kernel. It is for the two shapes of decoder that there are (RMSNorm, rotary
positions and SwiGLU; LayerNorm and GELU's tanh form), and for weights that lie as `row_product`
reads them along rows; other blocks take the ops one by one.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array, BoolArray, IntArray
from handformer.fast import (
    crew,
    gelu_tanh,
    layer_norm,
    rms_norm,
    rotary,
    rotary_angles,
    swiglu,
)
from handformer.fast.compiled import compiled
from handformer.fast.crew import Board
from handformer.fast.row_attention import attend
from handformer.fast.row_product import LARGE, MOST_ROWS, multiply, piece_of_product, seen

# Kernels that this one calls, under names that say whose they are.
_layer_norm, _rms_norm, _turn = layer_norm._forward, rms_norm._forward, rotary._turn
_gelu_tanh, _swiglu = gelu_tanh._forward, swiglu._forward


@compiled
def _norm(x: Array, gamma: Array, beta: Array | None, eps: float, centred: bool | None) -> Array:
    size = x.shape[0]
    scale, x_hat, y = np.empty(size, x.dtype), np.empty_like(x), np.empty_like(x)
    if centred is None:
        _rms_norm(x, gamma, eps, scale, x_hat, y)
    else:
        _layer_norm(x, gamma, beta, eps, np.empty(size, x.dtype), scale, x_hat, y)
    return y


@compiled
def _product(
    help: tuple[Board, int, int], x: Array, table: NDArray[Any], bias: Array | None
) -> Array:
    y = np.empty((x.shape[0], table.shape[0]), x.dtype)
    multiply(help[0], help[1], help[2], x, table, y)
    if bias is not None:
        for row in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[row, j] += bias[j]
    return y


@compiled
def _sum(x: Array, z: Array) -> Array:
    y = np.empty_like(x)
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            y[row, i] = x[row, i] + z[row, i]
    return y


@compiled
def _turned(x: Array, n_heads: int, cos: Array | None, sin: Array | None) -> Array:
    """(b, h, c) from (b, h * c), turned where there is a turn."""
    heads = x.reshape(x.shape[0], 1, n_heads, x.shape[1] // n_heads)
    if cos is None or sin is None:
        return heads[:, 0]
    y = np.empty_like(heads)
    _turn(heads, cos, sin, 1.0, y)
    return y[:, 0]


@compiled
def _append(past: Array, new: Array) -> None:
    """Write new (b, g, c) to the last place of past (b, g, s, c)."""
    last = past.shape[2] - 1
    for b in range(new.shape[0]):
        for g in range(new.shape[1]):
            for c in range(new.shape[2]):
                past[b, g, last, c] = new[b, g, c]


@compiled
def _network(
    help: tuple[Board, int, int], x: Array, gate: NDArray[Any] | None, up: NDArray[Any],
    b_up: Array | None, down: NDArray[Any], b_down: Array | None,
) -> Array:  # fmt: skip
    pre = _product(help, x, up, b_up)
    post = np.empty_like(pre)
    if gate is None:
        _gelu_tanh(pre.reshape(-1), post.reshape(-1))
    else:
        gated = _product(help, x, gate, None)
        act = np.empty_like(pre)
        _swiglu(gated.reshape(-1), pre.reshape(-1), act.reshape(-1), post.reshape(-1))
    return _product(help, post, down, b_down)


@compiled
def _block(
    board: Board, task: int, kind: int, x: Array, cos: Array | None, sin: Array | None,
    keys: Array, values: Array, mask: BoolArray, n_heads: int, norm_1: Any, heads: Any,
    biases: Any, norm_2: Any, network: Any,
) -> Array:  # fmt: skip
    """The block's output (b, d_model) from x (b, d_model).

    keys, values (b, g, s, c) get the new token's at the last of their places.
    """
    help = (board, task, kind)
    n, n_kv_heads, n_keys, d_k = keys.shape
    normed = _norm(x, norm_1[0], norm_1[1], norm_1[2], norm_1[3])
    q = _turned(_product(help, normed, heads[0], biases[0]), n_heads, cos, sin)
    k, v = (
        _product(help, normed, heads[1], biases[1]),
        _product(help, normed, heads[2], biases[2]),
    )
    _append(keys, _turned(k, n_kv_heads, cos, sin))
    _append(values, v.reshape(n, n_kv_heads, d_k))
    scores, attn = np.empty((n, n_heads, n_keys), x.dtype), np.empty((n, n_heads, n_keys), x.dtype)
    context = np.empty((n, n_heads, d_k), x.dtype)
    attend(q, keys, values, mask, None, scores, attn, context)
    attended = _product(help, context.reshape(n, n_heads * d_k), heads[3], biases[3])
    mid = _sum(x, attended)
    normed = _norm(mid, norm_2[0], norm_2[1], norm_2[2], norm_2[3])
    out = _network(help, normed, network[0], network[1], network[2], network[3], network[4])
    return _sum(mid, out)


def forward(
    block: Any, x: Array, past: Any, mask: BoolArray | None, positions: IntArray | None
) -> tuple[Array, Any] | None:
    """What `PreNormBlock.extend` gives for x (b, 1, d_model) after a past; None where this isn't
    the case, or the block isn't of a shape that the kernel knows.
    """
    if x.ndim != 3 or x.shape[1] != 1 or len(x) > MOST_ROWS or past is None:
        return None
    if mask is None or mask.dtype != np.bool_:
        return None
    if block not in _ready:
        _ready[block] = _prepared(block)
    ready = _ready[block]
    if ready is None or x.dtype != ready.dtype or mask.shape != (len(x), 1, past.k.shape[2] + 1):
        return None
    cos = sin = None
    if ready.base is not None:
        if positions is None or positions.shape != x.shape[:2]:
            return None
        cos, sin = rotary_angles.forward(positions, past.k.shape[3], ready.base, x.dtype)
    after = past.longer(1)
    arguments = (
        ready.kind, np.ascontiguousarray(x[:, 0]), cos, sin, after.k, after.v, mask[:, 0],
        *ready.weights,
    )  # fmt: skip
    if ready.large:
        y = crew.shared().run(_block, piece_of_product(), *arguments)
    else:
        y = _block(crew.NOBODY, 0, *arguments)
    return y[:, None], after


class _Ready(NamedTuple):
    """A block's weights as the kernel takes them; `base` is that of its rotary positions."""

    dtype: Any
    kind: int
    base: float | None
    large: bool
    weights: tuple[Any, ...]


# Weights don't change their place, so a block is looked at once.
_ready: WeakKeyDictionary[Any, _Ready | None] = WeakKeyDictionary()


def _prepared(block: Any) -> _Ready | None:
    """None for a block that the kernel doesn't know."""
    heads, network, position = block.attention, block.mlp, block.attention.position
    gated = hasattr(network, "w_gate")
    if network.activation != ("swiglu" if gated else "gelu_tanh"):
        return None
    if position is not None and getattr(position, "pairs", None) != "rotary":
        return None
    dtype = block.norm_1.gamma.dtype
    matrices = [heads.w_q, heads.w_k, heads.w_v, heads.w_o, network.w_up, network.w_down]
    matrices += [network.w_gate] if gated else []
    tables = [seen(dtype, w) for w in matrices]
    norms = [
        (norm.gamma, getattr(norm, "beta", None), norm.eps, True if hasattr(norm, "beta") else None)
        for norm in (block.norm_1, block.norm_2)
    ]
    biases = (heads.b_q, heads.b_k, heads.b_v, heads.b_o)
    b_up, b_down = (None, None) if gated else (network.b_up, network.b_down)
    vectors = [*biases, b_up, b_down, *(vector for norm in norms for vector in norm[:2])]
    if any(v is not None and (v.dtype != dtype or not v.flags.c_contiguous) for v in vectors):
        return None
    kinds = {table[0] for table in tables if table is not None}
    if len(kinds) != 1 or None in tables:
        return None
    w_q, w_k, w_v, w_o, w_up, w_down, *w_gate = (table[1] for table in tables if table is not None)
    return _Ready(
        dtype, kinds.pop(), None if position is None else position.base,
        any(w.nbytes >= LARGE for w in matrices),
        (
            heads.n_heads, norms[0], (w_q, w_k, w_v, w_o), biases, norms[1],
            (w_gate[0] if gated else None, w_up, b_up, w_down, b_down),
        ),
    )  # fmt: skip
