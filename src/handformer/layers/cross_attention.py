"""Cross-attention: queries from one sequence, keys and values from another."""

from types import ModuleType

import handformer.ops as plain
from handformer.axes import Array, BoolArray, record
from handformer.formula import Sheet
from handformer.layers.heads import EVERYTHING, HeadWeights, KeysValues
from handformer.ops import masked_attention, merge_heads, project_heads
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class CrossCache:
    """x, out (b, t, d_model); memory (b, s, d_model); the others as in `MultiHeadCache`."""

    x: Array
    memory: Array
    q: Array
    k: Array
    v: Array
    mask: BoolArray
    scores: Array
    attn: Array
    keep: BoolArray
    rate: float
    attn_kept: Array
    context: Array
    out: Array


@record
class CrossBack:
    """The gradient of every value of the cache, in the order of computation, and of the weights."""

    d_out: Array
    d_context: Array
    d_attn_kept: Array
    d_attn: Array
    d_scores: Array
    d_q: Array
    d_k: Array
    d_v: Array
    d_memory_k: Array
    d_memory_v: Array
    d_memory: Array
    d_x: Array
    params: "CrossAttention"


@record
class CrossAttention(HeadWeights):
    """Attention from x to a memory: the decoder looks at what the encoder made.

    Source: Vaswani et al. 2017, section 3.2.3.
    """

    @property
    def sheet(self) -> Sheet:
        """The projections, the core's formulas, the merging, and d_memory's two parts."""
        kv = project_heads.FORMULAS.rename(t="s", h="g", x="memory")
        whole = (
            project_heads.FORMULAS.rename(w="w_q", bias="b_q", y="q")
            + kv.rename(w="w_k", bias="b_k", y="k", d_memory="d_memory_k")
            + kv.rename(w="w_v", bias="b_v", y="v", d_memory="d_memory_v")
            + masked_attention.FORMULAS.without("bias")
            + merge_heads.FORMULAS.rename(x="context", w="w_o", bias="b_o", j="i", i="j", y="out")
            + Sheet.parse("d_memory[b,s,i] = d_memory_k[b,s,i] + d_memory_v[b,s,i]")
        )
        return whole.without(*self.absent)

    def forward(
        self,
        x: Array,
        memory: Array,
        *,
        mask: BoolArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, CrossCache]:
        """out (b, t, d_model) from x of that shape, memory (b, s, d_model), mask (..., t, s)."""
        q = ops.project_heads.forward(x, self.w_q, self.b_q, self.n_heads)
        kv = self.remember(memory, ops=ops)
        shape = self.scores_shape(x, memory.shape[-2])
        mask, rate = self.visible(mask, shape), drop.rate(self.dropout)
        keep = drop.keep(shape, rate)
        scores, attn, attn_kept, context = ops.masked_attention.forward(
            q, kv.k, kv.v, mask, None, keep, rate
        )
        out = ops.merge_heads.forward(context, self.w_o, self.b_o)
        return out, CrossCache(
            x, memory, q, kv.k, kv.v, mask, scores, attn, keep, rate, attn_kept, context, out
        )

    def backward(self, d_out: Array, cache: CrossCache, *, ops: ModuleType = plain) -> CrossBack:
        """The gradient of every value, and of the weights, from d_out (b, t, d_model)."""
        d_context, d_w_o, d_b_o = ops.merge_heads.backward(d_out, cache.context, self.w_o, self.b_o)
        d_attn_kept, d_attn, d_scores, d_q, d_k, d_v = ops.masked_attention.backward(
            d_context, cache.q, cache.k, cache.v,
            cache.attn, cache.attn_kept, cache.keep, cache.rate,
        )  # fmt: skip
        d_memory_v, d_w_v, d_b_v = ops.project_heads.backward(d_v, cache.memory, self.w_v, self.b_v)
        d_memory_k, d_w_k, d_b_k = ops.project_heads.backward(d_k, cache.memory, self.w_k, self.b_k)
        d_x, d_w_q, d_b_q = ops.project_heads.backward(d_q, cache.x, self.w_q, self.b_q)
        params = CrossAttention(
            d_w_q, d_w_k, d_w_v, d_w_o, d_b_q, d_b_k, d_b_v, d_b_o,
            self.n_heads, self.n_kv_heads, self.dropout,
        )  # fmt: skip
        return CrossBack(
            d_out, d_context, d_attn_kept, d_attn, d_scores, d_q, d_k, d_v, d_memory_k, d_memory_v,
            d_memory=ops.add.forward(d_memory_k, d_memory_v),  # the memory went two ways
            d_x=d_x,
            params=params,
        )  # fmt: skip

    def remember(self, memory: Array, *, ops: ModuleType = plain) -> KeysValues:
        """Keys and values of a memory (b, s, d_model): the same for every token that is written."""
        return KeysValues(
            ops.project_heads.forward(memory, self.w_k, self.b_k, self.n_kv_heads),
            ops.project_heads.forward(memory, self.w_v, self.b_v, self.n_kv_heads),
        )

    def extend(
        self, x: Array, memory: KeysValues, *, mask: BoolArray | None, ops: ModuleType = plain
    ) -> Array:
        """The same numbers for new rows x, from remembered keys and values, without a record."""
        q = ops.project_heads.forward(x, self.w_q, self.b_q, self.n_heads)
        mask = self.every_head(mask)
        *_, context = ops.masked_attention.forward(
            q, memory.k, memory.v, mask, None, EVERYTHING, 0.0
        )
        out: Array = ops.merge_heads.forward(context, self.w_o, self.b_o)
        return out
