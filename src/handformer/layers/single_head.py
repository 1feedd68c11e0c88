"""Single-head attention: where it all began. Forward hands back every value that it computed."""

from math import sqrt
from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, record
from handformer.formula import Sheet
from handformer.layers.layer import Layer, uniform
from handformer.ops import attention, linear


@record
class AttentionCache:
    """x (..., seq, d_model); q, k, v, context (..., seq, d_k); scores, attn (..., seq, seq)."""

    x: Array
    q: Array
    k: Array
    v: Array
    scores: Array
    attn: Array
    context: Array


@record
class AttentionBack:
    """The gradient of every value, in the order of computation, and of the weights."""

    d_out: Array
    d_context: Array
    d_attn: Array
    d_scores: Array
    d_q: Array
    d_k: Array
    d_v: Array
    d_x_q: Array
    d_x_k: Array
    d_x_v: Array
    d_x: Array
    params: "SingleHeadAttention"


_PROJECT = linear.FORMULAS.without("bias")


@record
class SingleHeadAttention(Layer):
    """out = softmax(x w_q (x w_k)^T / sqrt(d_k)) x w_v w_o.

    w_q, w_k, w_v have shape (d_model, d_k), w_o has shape (d_k, d_model). No mask and no biases.

    Source: Vaswani et al. 2017, section 3.2.1.
    """

    w_q: Array
    w_k: Array
    w_v: Array
    w_o: Array

    FORMULAS = (
        _PROJECT.rename(b="b t", j="c", w="w_q", y="q", d_x="d_x_q")
        + _PROJECT.rename(b="b s", j="c", w="w_k", y="k", d_x="d_x_k")
        + _PROJECT.rename(b="b s", j="c", w="w_v", y="v", d_x="d_x_v")
        + attention.FORMULAS
        + _PROJECT.rename(b="b t", i="c", j="i", x="context", w="w_o", y="out")
        + Sheet.parse("d_x[b,t,i] = d_x_q[b,t,i] + d_x_k[b,t,i] + d_x_v[b,t,i]")
    )

    @classmethod
    def init(cls, d_model: int, d_k: int, rng: np.random.Generator) -> "SingleHeadAttention":
        """Weights uniform in ±1/sqrt(d_k), in float64."""
        bound = 1 / sqrt(d_k)
        w_q, w_k, w_v = (uniform(rng, bound, d_model, d_k) for _ in range(3))
        return cls(w_q, w_k, w_v, uniform(rng, bound, d_k, d_model))

    @property
    def d_k(self) -> int:
        """Width of the head."""
        return int(self.w_q.shape[1])

    @property
    def scalars(self) -> dict[str, float]:
        """The numbers that the formulas mention."""
        return {"d_k": self.d_k}

    def forward_v1(self, x: Array, *, ops: ModuleType = plain) -> tuple[Array, Array]:
        """out (..., seq, d_model) and attn (..., seq, seq): the version without a cache."""
        out, cache = self.forward(x, ops=ops)
        return out, cache.attn

    def forward(self, x: Array, *, ops: ModuleType = plain) -> tuple[Array, AttentionCache]:
        """out (..., seq, d_model) from x (..., seq, d_model), and every value on the way."""
        q = ops.linear.forward(x, self.w_q, None)
        k = ops.linear.forward(x, self.w_k, None)
        v = ops.linear.forward(x, self.w_v, None)
        scores, attn, context = ops.attention.forward(q, k, v)
        out = ops.linear.forward(context, self.w_o, None)
        return out, AttentionCache(x, q, k, v, scores, attn, context)

    def backward(
        self, d_out: Array, cache: AttentionCache, *, ops: ModuleType = plain
    ) -> AttentionBack:
        """The gradient of every value, and of the weights, from d_out (..., seq, d_model)."""
        d_context, d_w_o, _ = ops.linear.backward(d_out, cache.context, self.w_o, None)
        d_attn, d_scores, d_q, d_k, d_v = ops.attention.backward(
            d_context, cache.q, cache.k, cache.v, cache.attn
        )
        d_x_v, d_w_v, _ = ops.linear.backward(d_v, cache.x, self.w_v, None)
        d_x_k, d_w_k, _ = ops.linear.backward(d_k, cache.x, self.w_k, None)
        d_x_q, d_w_q, _ = ops.linear.backward(d_q, cache.x, self.w_q, None)
        return AttentionBack(
            d_out, d_context, d_attn, d_scores, d_q, d_k, d_v, d_x_q, d_x_k, d_x_v,
            d_x=ops.add.forward(d_x_q, d_x_k, d_x_v),  # x went three ways
            params=SingleHeadAttention(d_w_q, d_w_k, d_w_v, d_w_o),
        )  # fmt: skip
