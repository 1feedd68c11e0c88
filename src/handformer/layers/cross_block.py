"""The post-norm block that also looks at a memory: the decoder of 2017."""

from types import ModuleType

import handformer.ops as plain
from handformer.axes import Array, BoolArray, record
from handformer.formula import Sheet
from handformer.layers.cross_attention import CrossAttention, CrossBack, CrossCache
from handformer.layers.dropout import Dropout, DropoutBack, DropoutCache
from handformer.layers.heads import KeysValues
from handformer.layers.layer import Layer
from handformer.layers.mlp import MLP, MLPBack, MLPCache
from handformer.layers.multi_head import MultiHeadAttention, MultiHeadBack, MultiHeadCache
from handformer.layers.norm import LayerNorm, LayerNormBack, LayerNormCache
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class CrossBlockCache:
    """x, out (b, t, d_model), and the parts' own; the sums are the norms' x."""

    x: Array
    attention: MultiHeadCache
    dropout_1: DropoutCache
    norm_1: LayerNormCache
    cross: CrossCache
    dropout_2: DropoutCache
    norm_2: LayerNormCache
    mlp: MLPCache
    dropout_3: DropoutCache
    norm_3: LayerNormCache
    out: Array


@record
class CrossBlockBack:
    """The gradients of the residual stream (b, t, d_model), of the memory, and the parts' own.

    Every block looks at the memory: d_memory_later (b, s, d_model) comes from the blocks after this
    one, d_memory has this one's part added.
    """

    d_out: Array
    norm_3: LayerNormBack
    dropout_3: DropoutBack
    mlp: MLPBack
    norm_2: LayerNormBack
    dropout_2: DropoutBack
    cross: CrossBack
    norm_1: LayerNormBack
    dropout_1: DropoutBack
    attention: MultiHeadBack
    d_x: Array
    d_memory_later: Array
    d_memory: Array
    params: "CrossBlock"


@record
class CrossBlock(Layer):
    """A post-norm block with cross-attention between self-attention and the network.

    Source: Vaswani et al. 2017, section 3.1 (the decoder).
    """

    attention: MultiHeadAttention
    dropout_1: Dropout
    norm_1: LayerNorm
    cross: CrossAttention
    dropout_2: Dropout
    norm_2: LayerNorm
    mlp: MLP
    dropout_3: Dropout
    norm_3: LayerNorm

    FORMULAS = Sheet.parse("""
        norm_1.x[b,t,i]     = x[b,t,i] + dropout_1.out[b,t,i]
        norm_2.x[b,t,i]     = norm_1.out[b,t,i] + dropout_2.out[b,t,i]
        norm_3.x[b,t,i]     = norm_2.out[b,t,i] + dropout_3.out[b,t,i]
        norm_2.d_out[b,t,i] = norm_3.d_x[b,t,i] + mlp.d_x[b,t,i]
        norm_1.d_out[b,t,i] = norm_2.d_x[b,t,i] + cross.d_x[b,t,i]
        d_x[b,t,i]          = norm_1.d_x[b,t,i] + attention.d_x[b,t,i]
        d_memory[b,s,i]     = cross.d_memory[b,s,i] + d_memory_later[b,s,i]
    """)

    def forward(
        self,
        x: Array,
        memory: Array,
        *,
        mask: BoolArray | None = None,
        memory_mask: BoolArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, CrossBlockCache]:
        """out (b, t, d_model) from x, the memory (b, s, d_model), mask (..., t, t), memory_mask
        (..., t, s).
        """
        attended, attention = self.attention.forward(
            x, mask=mask, drop=drop.at("attention"), ops=ops
        )
        kept_1, dropout_1 = self.dropout_1.forward(attended, drop=drop.at("dropout_1"), ops=ops)
        mid_1, norm_1 = self.norm_1.forward(ops.add.forward(x, kept_1), ops=ops)
        looked, cross = self.cross.forward(
            mid_1, memory, mask=memory_mask, drop=drop.at("cross"), ops=ops
        )
        kept_2, dropout_2 = self.dropout_2.forward(looked, drop=drop.at("dropout_2"), ops=ops)
        mid_2, norm_2 = self.norm_2.forward(ops.add.forward(mid_1, kept_2), ops=ops)
        widened, mlp = self.mlp.forward(mid_2, ops=ops)
        kept_3, dropout_3 = self.dropout_3.forward(widened, drop=drop.at("dropout_3"), ops=ops)
        out, norm_3 = self.norm_3.forward(ops.add.forward(mid_2, kept_3), ops=ops)
        return out, CrossBlockCache(
            x, attention, dropout_1, norm_1, cross, dropout_2, norm_2, mlp, dropout_3, norm_3, out
        )

    def backward(
        self,
        d_out: Array,
        cache: CrossBlockCache,
        d_memory_later: Array,
        *,
        ops: ModuleType = plain,
    ) -> CrossBlockBack:
        """Gradients from d_out (b, t, d_model) and what later blocks sent to the memory (b, s,
        d_model).
        """
        norm_3 = self.norm_3.backward(d_out, cache.norm_3, ops=ops)
        dropout_3 = self.dropout_3.backward(norm_3.d_x, cache.dropout_3, ops=ops)
        mlp = self.mlp.backward(dropout_3.d_x, cache.mlp, ops=ops)
        d_mid_2 = ops.add.forward(norm_3.d_x, mlp.d_x)  # mid went on, and into the network
        norm_2 = self.norm_2.backward(d_mid_2, cache.norm_2, ops=ops)
        dropout_2 = self.dropout_2.backward(norm_2.d_x, cache.dropout_2, ops=ops)
        cross = self.cross.backward(dropout_2.d_x, cache.cross, ops=ops)
        d_mid_1 = ops.add.forward(norm_2.d_x, cross.d_x)
        norm_1 = self.norm_1.backward(d_mid_1, cache.norm_1, ops=ops)
        dropout_1 = self.dropout_1.backward(norm_1.d_x, cache.dropout_1, ops=ops)
        attention = self.attention.backward(dropout_1.d_x, cache.attention, ops=ops)
        d_x = ops.add.forward(norm_1.d_x, attention.d_x)  # x went on, and into attention
        params = CrossBlock(
            attention.params, self.dropout_1, norm_1.params, cross.params, self.dropout_2,
            norm_2.params, mlp.params, self.dropout_3, norm_3.params,
        )  # fmt: skip
        return CrossBlockBack(
            d_out, norm_3, dropout_3, mlp, norm_2, dropout_2, cross, norm_1, dropout_1, attention,
            d_x, d_memory_later,
            d_memory=ops.add.forward(cross.d_memory, d_memory_later),
            params=params,
        )  # fmt: skip

    def extend(
        self,
        x: Array,
        past: KeysValues | None,
        memory: KeysValues,
        *,
        mask: BoolArray | None = None,
        memory_mask: BoolArray | None = None,
        ops: ModuleType = plain,
    ) -> tuple[Array, KeysValues]:
        """The same numbers for new rows x after `past`, without a record."""
        attended, past = self.attention.extend(x, past, mask=mask, ops=ops)
        mid_1, _ = self.norm_1.forward(x + attended, ops=ops)
        looked = self.cross.extend(mid_1, memory, mask=memory_mask, ops=ops)
        mid_2, _ = self.norm_2.forward(mid_1 + looked, ops=ops)
        return self.norm_3.forward(mid_2 + self.mlp.forward(mid_2, ops=ops)[0], ops=ops)[0], past
