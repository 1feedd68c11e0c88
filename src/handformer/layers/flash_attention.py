"""Multi-head self-attention that doesn't write its scores: for long contexts."""

from itertools import takewhile
from types import ModuleType

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.errors import InputError
from handformer.formula import Sheet
from handformer.layers.heads import KeysValues
from handformer.layers.multi_head import MultiHeadAttention, row_places
from handformer.layers.position import Alibi, Rotary
from handformer.ops import flash_attention, masked_attention
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class FlashCache:
    """x, out (b, t, d_model); q, context (b, h, t, d_k); k, v (b, g, s, d_k); log_total (b, h, t).

    positions, cos, sin, q_rot and k_rot are there with rotary positions. The mask (b, h, t, s) is a
    view of what was given. Scores and weights are in no record of this attention.
    """

    x: Array
    q: Array
    k: Array
    v: Array
    positions: IntArray | None
    cos: Array | None
    sin: Array | None
    q_rot: Array | None
    k_rot: Array | None
    mask: BoolArray
    log_total: Array
    context: Array
    out: Array


@record
class FlashBack:
    """The gradient of every value of the cache, in the order of computation, and of the weights."""

    d_out: Array
    d_context: Array
    d_log_total: Array
    d_q_rot: Array | None
    d_k_rot: Array | None
    d_q: Array
    d_k: Array
    d_v: Array
    d_x_q: Array
    d_x_k: Array
    d_x_v: Array
    d_x: Array
    params: "FlashAttention"


@record
class FlashAttention(MultiHeadAttention):
    """The same weights and numbers as `MultiHeadAttention`, in memory that grows with the context.

    It has no dropout on its weights and no ALiBi: both would be arrays (h, t, s).

    Source: Dao et al. 2022, "FlashAttention".
    """

    def __post_init__(self) -> None:
        """Refuse what this form doesn't have.

        Raises
        ------
        InputError
            for a dropout above 0, and for ALiBi
        """
        if self.dropout:
            raise InputError(
                f"dropout = {self.dropout}: flash attention has none on its weights; "
                "set it to 0, or take the full attention"
            )
        if isinstance(self.position, Alibi):
            raise InputError("flash attention has no ALiBi; take the full attention, or Rotary")

    @property
    def sheet(self) -> Sheet:
        """That of `MultiHeadAttention` with another core."""
        turned = {"q": "q_rot", "k": "k_rot"} if isinstance(self.position, Rotary) else {}
        full = {formula.name for formula in masked_attention.FORMULAS.rename(**turned)}
        before = tuple(takewhile(lambda formula: formula.name not in full, super().sheet))
        others = (f for f in super().sheet if f not in before and f.name not in full)
        return Sheet((*before, *flash_attention.FORMULAS.rename(**turned), *others))

    def forward(  # type: ignore[override]  # its record is another
        self,
        x: Array,
        *,
        mask: BoolArray | None = None,
        positions: IntArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, FlashCache]:
        """As `MultiHeadAttention.forward`; `drop` isn't asked, since there is no dropout."""
        q, k, v = self._project(x, ops)
        places = cos = sin = q_rot = k_rot = None
        if isinstance(self.position, Rotary):
            places = row_places(x, positions, 0)
            cos, sin, q_rot, k_rot = self._turn(q, k, places, ops)
        mask = self.visible(mask, self.scores_shape(x, x.shape[-2]))
        log_total, context = ops.flash_attention.forward(
            q if q_rot is None else q_rot, k if k_rot is None else k_rot, v, mask
        )
        out = ops.merge_heads.forward(context, self.w_o, self.b_o)
        return out, FlashCache(
            x, q, k, v, places, cos, sin, q_rot, k_rot, mask, log_total, context, out
        )

    def backward(  # type: ignore[override]
        self, d_out: Array, cache: FlashCache, *, ops: ModuleType = plain
    ) -> FlashBack:
        """The gradient of every value, and of the weights, from d_out (b, t, d_model)."""
        d_context, d_w_o, d_b_o = ops.merge_heads.backward(d_out, cache.context, self.w_o, self.b_o)
        d_log_total, d_q, d_k, d_v = ops.flash_attention.backward(
            d_context,
            cache.q if cache.q_rot is None else cache.q_rot,
            cache.k if cache.k_rot is None else cache.k_rot,
            cache.v, cache.mask, cache.log_total, cache.context,
        )  # fmt: skip
        d_q_rot, d_k_rot, d_q, d_k = self._turn_back(d_q, d_k, cache.cos, cache.sin, ops)
        d_x_q, d_x_k, d_x_v, params = self._project_back(
            d_q, d_k, d_v, cache.x, (d_w_o, d_b_o), ops
        )
        return FlashBack(
            d_out, d_context, d_log_total, d_q_rot, d_k_rot, d_q, d_k, d_v, d_x_q, d_x_k, d_x_v,
            d_x=ops.add.forward(d_x_q, d_x_k, d_x_v),  # x went three ways
            params=params,
        )  # fmt: skip

    def _attend(self, q: Array, past: KeysValues, mask: BoolArray | None, ops: ModuleType) -> Array:
        """As `MultiHeadAttention._attend`: it is that for one new row, whose scores are few."""
        if q.shape[-2] == 1:
            return super()._attend(q, past, mask, ops)
        mask = self.visible(mask, (*q.shape[:-1], past.k.shape[-2]))
        context: Array = ops.flash_attention.forward(q, past.k, past.v, mask)[1]
        return context
