"""The post-norm block: each part's output is added to its input, and the sum is normalised."""

from types import ModuleType

import handformer.ops as plain
from handformer.axes import Array, BoolArray, record
from handformer.formula import Sheet
from handformer.layers.dropout import Dropout, DropoutBack, DropoutCache
from handformer.layers.flash_attention import FlashBack, FlashCache
from handformer.layers.layer import Layer
from handformer.layers.mlp import MLP, MLPBack, MLPCache
from handformer.layers.multi_head import MultiHeadAttention, MultiHeadBack, MultiHeadCache
from handformer.layers.norm import LayerNorm, LayerNormBack, LayerNormCache
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class PostNormCache:
    """x, out (b, t, d_model), and the parts' own; the sums are `norm_1.x` and `norm_2.x`."""

    x: Array
    attention: MultiHeadCache | FlashCache
    dropout_1: DropoutCache
    norm_1: LayerNormCache
    mlp: MLPCache
    dropout_2: DropoutCache
    norm_2: LayerNormCache
    out: Array


@record
class PostNormBack:
    """The gradients of the residual stream (b, t, d_model), and the parts' own."""

    d_out: Array
    norm_2: LayerNormBack
    dropout_2: DropoutBack
    mlp: MLPBack
    norm_1: LayerNormBack
    dropout_1: DropoutBack
    attention: MultiHeadBack | FlashBack
    d_x: Array
    params: "PostNormBlock"


@record
class PostNormBlock(Layer):
    """mid = norm_1(x + attention(x)), out = norm_2(mid + mlp(mid)).

    Source: Vaswani et al. 2017, section 3.1 (the encoder); Devlin et al. 2019 (BERT).
    """

    attention: MultiHeadAttention
    dropout_1: Dropout
    norm_1: LayerNorm
    mlp: MLP
    dropout_2: Dropout
    norm_2: LayerNorm

    FORMULAS = Sheet.parse("""
        norm_1.x[b,t,i]     = x[b,t,i] + dropout_1.out[b,t,i]
        norm_2.x[b,t,i]     = norm_1.out[b,t,i] + dropout_2.out[b,t,i]
        norm_1.d_out[b,t,i] = norm_2.d_x[b,t,i] + mlp.d_x[b,t,i]
        d_x[b,t,i]          = norm_1.d_x[b,t,i] + attention.d_x[b,t,i]
    """)

    def forward(
        self,
        x: Array,
        *,
        mask: BoolArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, PostNormCache]:
        """out (b, t, d_model) from x; mask as in `MultiHeadAttention.forward`."""
        attended, attention = self.attention.forward(
            x, mask=mask, drop=drop.at("attention"), ops=ops
        )
        kept_1, dropout_1 = self.dropout_1.forward(attended, drop=drop.at("dropout_1"), ops=ops)
        mid, norm_1 = self.norm_1.forward(ops.add.forward(x, kept_1), ops=ops)
        widened, mlp = self.mlp.forward(mid, ops=ops)
        kept_2, dropout_2 = self.dropout_2.forward(widened, drop=drop.at("dropout_2"), ops=ops)
        out, norm_2 = self.norm_2.forward(ops.add.forward(mid, kept_2), ops=ops)
        return out, PostNormCache(x, attention, dropout_1, norm_1, mlp, dropout_2, norm_2, out)

    def backward(
        self, d_out: Array, cache: PostNormCache, *, ops: ModuleType = plain
    ) -> PostNormBack:
        """Gradients from d_out (b, t, d_model)."""
        norm_2 = self.norm_2.backward(d_out, cache.norm_2, ops=ops)
        dropout_2 = self.dropout_2.backward(norm_2.d_x, cache.dropout_2, ops=ops)
        mlp = self.mlp.backward(dropout_2.d_x, cache.mlp, ops=ops)
        d_mid = ops.add.forward(norm_2.d_x, mlp.d_x)  # mid went on, and into the network
        norm_1 = self.norm_1.backward(d_mid, cache.norm_1, ops=ops)
        dropout_1 = self.dropout_1.backward(norm_1.d_x, cache.dropout_1, ops=ops)
        attention = self.attention.backward(dropout_1.d_x, cache.attention, ops=ops)  # type: ignore[arg-type]
        d_x = ops.add.forward(norm_1.d_x, attention.d_x)  # x went on, and into attention
        params = PostNormBlock(
            attention.params,
            self.dropout_1,
            norm_1.params,
            mlp.params,
            self.dropout_2,
            norm_2.params,
        )
        return PostNormBack(
            d_out, norm_2, dropout_2, mlp, norm_1, dropout_1, attention, d_x, params
        )
