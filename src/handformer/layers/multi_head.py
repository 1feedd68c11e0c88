"""Multi-head self-attention: several heads side by side, under any mask."""

from types import ModuleType
from typing import Self

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.formula import Sheet
from handformer.layers.heads import EVERYTHING, HeadWeights, KeysValues
from handformer.layers.position import Alibi, Rotary
from handformer.ops import alibi, masked_attention, merge_heads, project_heads, rotary_angles
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class MultiHeadCache:
    """x, out (b, t, d_model); q, context (b, h, t, d_k); k, v (b, g, s, d_k); scores, attn (b, h,
    t, s).

    positions, cos, sin, q_rot and k_rot are there with rotary positions, slope and bias with ALiBi.
    keep, rate and attn_kept are the dropout's: without dropout all true, 0 and attn itself.
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
    slope: Array | None
    bias: Array | None
    mask: BoolArray
    scores: Array
    attn: Array
    keep: BoolArray
    rate: float
    attn_kept: Array
    context: Array
    out: Array


@record
class MultiHeadBack:
    """The gradient of every value of the cache, in the order of computation, and of the weights."""

    d_out: Array
    d_context: Array
    d_attn_kept: Array
    d_attn: Array
    d_scores: Array
    d_q_rot: Array | None
    d_k_rot: Array | None
    d_q: Array
    d_k: Array
    d_v: Array
    d_x_q: Array
    d_x_k: Array
    d_x_v: Array
    d_x: Array
    params: "MultiHeadAttention"


@record
class MultiHeadAttention(HeadWeights):
    """Self-attention with n_heads heads; `position` is None where positions don't enter here.

    Source: Vaswani et al. 2017, section 3.2.2; grouped heads: Ainslie et al. 2023.
    """

    position: Rotary | Alibi | None = None

    @property
    def scalars(self) -> dict[str, float]:
        """The numbers that the formulas mention."""
        base = {"base": self.position.base} if isinstance(self.position, Rotary) else {}
        return {**super().scalars, **base}

    @property
    def sheet(self) -> Sheet:
        """The projections, positions, the core, the merging, and d_x's three parts."""
        core = masked_attention.FORMULAS
        positions = Sheet(())
        if isinstance(self.position, Rotary):
            turn: Sheet = getattr(plain, self.position.pairs).FORMULAS
            positions = (
                rotary_angles.FORMULAS
                + turn.rename(x="q", y="q_rot")
                + turn.rename(x="k", y="k_rot", h="g", t="s")
            )
            core = core.rename(q="q_rot", k="k_rot")
        if isinstance(self.position, Alibi):
            positions = alibi.FORMULAS
        else:
            core = core.without("bias")
        kv = project_heads.FORMULAS.rename(t="s", h="g")
        whole = (
            project_heads.FORMULAS.rename(w="w_q", bias="b_q", y="q", d_x="d_x_q")
            + kv.rename(w="w_k", bias="b_k", y="k", d_x="d_x_k")
            + kv.rename(w="w_v", bias="b_v", y="v", d_x="d_x_v")
            + positions
            + core
            + merge_heads.FORMULAS.rename(x="context", w="w_o", bias="b_o", j="i", i="j", y="out")
            + Sheet.parse("d_x[b,t,i] = d_x_q[b,t,i] + d_x_k[b,t,i] + d_x_v[b,t,i]")
        )
        return whole.without(*(name for name in self.absent if name != "position"))

    def forward(
        self,
        x: Array,
        *,
        mask: BoolArray | None = None,
        positions: IntArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, MultiHeadCache]:
        """Attend from every row of x to the rows of x that `mask` lets it see.

        Parameters
        ----------
        x
            (b, t, d_model), or (t, d_model)
        mask
            (..., t, t) boolean, true where the query t may see the key s; None hides nothing
        positions
            (b, t) place of each row, for rotary positions; None counts from 0

        Returns
        -------
        out (b, t, d_model), and every value on the way
        """
        n = x.shape[-2]
        q, k, v = self._project(x, ops)
        places = row_places(x, positions)
        cos = sin = q_rot = k_rot = slope = bias = None
        if isinstance(self.position, Rotary):
            cos, sin, q_rot, k_rot = self._turn(q, k, places, ops)
        if isinstance(self.position, Alibi):
            slope, bias = ops.alibi.forward(n, n, self.n_heads, q.dtype)
        shape = self.scores_shape(x, n)
        mask, rate = self.visible(mask, shape), drop.rate(self.dropout)
        keep = drop.keep(shape, rate)
        scores, attn, attn_kept, context = ops.masked_attention.forward(
            q if q_rot is None else q_rot, k if k_rot is None else k_rot, v,
            mask, bias, keep, rate,
        )  # fmt: skip
        out = ops.merge_heads.forward(context, self.w_o, self.b_o)
        return out, MultiHeadCache(
            x, q, k, v, None if cos is None else places, cos, sin, q_rot, k_rot, slope, bias,
            mask, scores, attn, keep, rate, attn_kept, context, out,
        )  # fmt: skip

    def backward(
        self, d_out: Array, cache: MultiHeadCache, *, ops: ModuleType = plain
    ) -> MultiHeadBack:
        """The gradient of every value, and of the weights, from d_out (b, t, d_model)."""
        d_context, d_w_o, d_b_o = ops.merge_heads.backward(d_out, cache.context, self.w_o, self.b_o)
        d_attn_kept, d_attn, d_scores, d_q, d_k, d_v = ops.masked_attention.backward(
            d_context,
            cache.q if cache.q_rot is None else cache.q_rot,
            cache.k if cache.k_rot is None else cache.k_rot,
            cache.v, cache.attn, cache.attn_kept, cache.keep, cache.rate,
        )  # fmt: skip
        d_q_rot, d_k_rot, d_q, d_k = self._turn_back(d_q, d_k, cache.cos, cache.sin, ops)
        d_x_q, d_x_k, d_x_v, params = self._project_back(
            d_q, d_k, d_v, cache.x, (d_w_o, d_b_o), ops
        )
        return MultiHeadBack(
            d_out, d_context, d_attn_kept, d_attn, d_scores, d_q_rot, d_k_rot, d_q, d_k, d_v,
            d_x_q, d_x_k, d_x_v,
            d_x=ops.add.forward(d_x_q, d_x_k, d_x_v),  # x went three ways
            params=params,
        )  # fmt: skip

    def extend(
        self,
        x: Array,
        past: KeysValues | None,
        *,
        mask: BoolArray | None = None,
        positions: IntArray | None = None,
        ops: ModuleType = plain,
    ) -> tuple[Array, KeysValues]:
        """The same numbers for new rows x (b, t, d_model) after `past`, without a record.

        mask (..., t, s) has a column for every key, past and new; positions are those of the new
        rows.
        """
        q, k, v = self._project(x, ops)
        if isinstance(self.position, Rotary):
            before = 0 if past is None else past.k.shape[-2]
            _, _, q, k = self._turn(q, k, row_places(x, positions, before), ops)
        past = KeysValues(k, v) if past is None else past.then(k, v)
        context = self._attend(q, past, mask, ops)
        return ops.merge_heads.forward(context, self.w_o, self.b_o), past

    def _attend(self, q: Array, past: KeysValues, mask: BoolArray | None, ops: ModuleType) -> Array:
        """The context (b, h, t, d_k) of new queries, without a record."""
        bias = None
        if isinstance(self.position, Alibi):
            n, n_keys = q.shape[-2], past.k.shape[-2]
            _, bias = ops.alibi.forward(n, n_keys, self.n_heads, q.dtype)
        mask = self.every_head(mask)
        found = ops.masked_attention.forward(q, past.k, past.v, mask, bias, EVERYTHING, 0.0)
        context: Array = found[-1]
        return context

    def _project(self, x: Array, ops: ModuleType) -> tuple[Array, Array, Array]:
        q = ops.project_heads.forward(x, self.w_q, self.b_q, self.n_heads)
        k = ops.project_heads.forward(x, self.w_k, self.b_k, self.n_kv_heads)
        v = ops.project_heads.forward(x, self.w_v, self.b_v, self.n_kv_heads)
        return q, k, v

    def _turn(
        self, q: Array, k: Array, positions: IntArray, ops: ModuleType
    ) -> tuple[Array, Array, Array, Array]:
        assert isinstance(self.position, Rotary)
        turn = getattr(ops, self.position.pairs)
        cos, sin = ops.rotary_angles.forward(positions, self.d_k, self.position.base, q.dtype)
        return cos, sin, turn.forward(q, cos, sin), turn.forward(k, cos, sin)

    def _turn_back(
        self, d_q: Array, d_k: Array, cos: Array | None, sin: Array | None, ops: ModuleType
    ) -> tuple[Array | None, Array | None, Array, Array]:
        """d_q_rot, d_k_rot, d_q, d_k: the turn comes undone, where there is one."""
        if not isinstance(self.position, Rotary):
            return None, None, d_q, d_k
        turn = getattr(ops, self.position.pairs)
        return d_q, d_k, turn.backward(d_q, cos, sin), turn.backward(d_k, cos, sin)

    def _project_back(
        self, d_q: Array, d_k: Array, d_v: Array, x: Array,
        of_merging: tuple[Array, Array | None], ops: ModuleType,
    ) -> tuple[Array, Array, Array, Self]:  # fmt: skip
        """d_x_q, d_x_k, d_x_v and the gradients of all weights, those of the merging among them."""
        d_x_v, d_w_v, d_b_v = ops.project_heads.backward(d_v, x, self.w_v, self.b_v)
        d_x_k, d_w_k, d_b_k = ops.project_heads.backward(d_k, x, self.w_k, self.b_k)
        d_x_q, d_w_q, d_b_q = ops.project_heads.backward(d_q, x, self.w_q, self.b_q)
        d_w_o, d_b_o = of_merging
        params = type(self)(
            d_w_q, d_w_k, d_w_v, d_w_o, d_b_q, d_b_k, d_b_v, d_b_o,
            self.n_heads, self.n_kv_heads, self.dropout, self.position,
        )  # fmt: skip
        return d_x_q, d_x_k, d_x_v, params


def row_places(x: Array, positions: IntArray | None, before: int = 0) -> IntArray:
    """The position of every row of x (..., t); counted on from `before` where none are given."""
    if positions is not None and positions.shape == x.shape[:-1]:
        return positions
    counted = before + np.arange(x.shape[-2]) if positions is None else positions
    return np.broadcast_to(counted, x.shape[:-1])
