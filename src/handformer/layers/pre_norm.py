"""The pre-norm block: each part reads a normalised copy of the residual stream."""

from types import ModuleType

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.formula import Sheet
from handformer.layers.dropout import Dropout, DropoutBack, DropoutCache
from handformer.layers.flash_attention import FlashBack, FlashCache
from handformer.layers.heads import KeysValues
from handformer.layers.layer import Layer
from handformer.layers.mlp import MLP, GatedMLP, GatedMLPBack, GatedMLPCache, MLPBack, MLPCache
from handformer.layers.multi_head import MultiHeadAttention, MultiHeadBack, MultiHeadCache
from handformer.layers.norm import Norm, NormBack, NormCache
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class PreNormCache:
    """x, mid, out (b, t, d_model): the residual stream before, between and after; and the parts'
    own.
    """

    x: Array
    norm_1: NormCache
    attention: MultiHeadCache | FlashCache
    dropout_1: DropoutCache
    mid: Array
    norm_2: NormCache
    mlp: MLPCache | GatedMLPCache
    dropout_2: DropoutCache
    out: Array


@record
class PreNormBack:
    """The gradients of the residual stream (b, t, d_model), and the parts' own."""

    d_out: Array
    dropout_2: DropoutBack
    mlp: MLPBack | GatedMLPBack
    norm_2: NormBack
    d_mid: Array
    dropout_1: DropoutBack
    attention: MultiHeadBack | FlashBack
    norm_1: NormBack
    d_x: Array
    params: "PreNormBlock"


@record
class PreNormBlock(Layer):
    """mid = x + attention(norm_1(x)), out = mid + mlp(norm_2(mid)).

    Source: Radford et al. 2019 (GPT-2), section 2.3; Xiong et al. 2020.
    """

    norm_1: Norm
    attention: MultiHeadAttention
    dropout_1: Dropout
    norm_2: Norm
    mlp: MLP | GatedMLP
    dropout_2: Dropout

    FORMULAS = Sheet.parse("""
        mid[b,t,i]   = x[b,t,i] + dropout_1.out[b,t,i]
        out[b,t,i]   = mid[b,t,i] + dropout_2.out[b,t,i]
        d_mid[b,t,i] = d_out[b,t,i] + norm_2.d_x[b,t,i]
        d_x[b,t,i]   = d_mid[b,t,i] + norm_1.d_x[b,t,i]
    """)

    def forward(
        self,
        x: Array,
        *,
        mask: BoolArray | None = None,
        positions: IntArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, PreNormCache]:
        """out (b, t, d_model) from x; mask and positions as in `MultiHeadAttention.forward`."""
        normed_1, norm_1 = self.norm_1.forward(x, ops=ops)
        attended, attention = self.attention.forward(
            normed_1, mask=mask, positions=positions, drop=drop.at("attention"), ops=ops
        )
        kept_1, dropout_1 = self.dropout_1.forward(attended, drop=drop.at("dropout_1"), ops=ops)
        mid = ops.add.forward(x, kept_1)
        normed_2, norm_2 = self.norm_2.forward(mid, ops=ops)
        widened, mlp = self.mlp.forward(normed_2, ops=ops)
        kept_2, dropout_2 = self.dropout_2.forward(widened, drop=drop.at("dropout_2"), ops=ops)
        out = ops.add.forward(mid, kept_2)
        return out, PreNormCache(x, norm_1, attention, dropout_1, mid, norm_2, mlp, dropout_2, out)

    def backward(
        self, d_out: Array, cache: PreNormCache, *, ops: ModuleType = plain
    ) -> PreNormBack:
        """Gradients from d_out (b, t, d_model)."""
        dropout_2 = self.dropout_2.backward(d_out, cache.dropout_2, ops=ops)
        mlp = self.mlp.backward(dropout_2.d_x, cache.mlp, ops=ops)  # type: ignore[arg-type]
        norm_2 = self.norm_2.backward(mlp.d_x, cache.norm_2, ops=ops)  # type: ignore[arg-type]
        d_mid = ops.add.forward(d_out, norm_2.d_x)  # mid went on, and into the network
        dropout_1 = self.dropout_1.backward(d_mid, cache.dropout_1, ops=ops)
        attention = self.attention.backward(dropout_1.d_x, cache.attention, ops=ops)  # type: ignore[arg-type]
        norm_1 = self.norm_1.backward(attention.d_x, cache.norm_1, ops=ops)  # type: ignore[arg-type]
        d_x = ops.add.forward(d_mid, norm_1.d_x)  # x went on, and into attention
        params = PreNormBlock(
            norm_1.params,
            attention.params,
            self.dropout_1,
            norm_2.params,
            mlp.params,
            self.dropout_2,
        )
        return PreNormBack(
            d_out, dropout_2, mlp, norm_2, d_mid, dropout_1, attention, norm_1, d_x, params
        )

    def extend(
        self,
        x: Array,
        past: KeysValues | None,
        *,
        mask: BoolArray | None = None,
        positions: IntArray | None = None,
        ops: ModuleType = plain,
    ) -> tuple[Array, KeysValues]:
        """The same numbers for new rows x after `past`, without a record.

        `ops` may have a `pre_norm_step`, which does it in one go where it can.
        """
        step = getattr(ops, "pre_norm_step", None)
        done = None if step is None else step.forward(self, x, past, mask, positions)
        if done is not None:
            return done  # type: ignore[no-any-return]
        normed, _ = self.norm_1.forward(x, ops=ops)
        attended, past = self.attention.extend(
            normed, past, mask=mask, positions=positions, ops=ops
        )
        mid = x + attended
        normed, _ = self.norm_2.forward(mid, ops=ops)
        return mid + self.mlp.forward(normed, ops=ops)[0], past
