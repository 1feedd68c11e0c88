"""Heads: from the last rows of the model to a score for every entry of the vocabulary."""

from math import sqrt
from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, record
from handformer.formula import Sheet
from handformer.layers.layer import Layer, uniform
from handformer.layers.norm import LayerNorm, LayerNormBack, LayerNormCache
from handformer.ops import gelu, linear, tied_linear


@record
class HeadCache:
    """x (b, t, d_model), out (b, t, vocab_size): the logits. `table` is the embedding's, in a tied
    head.
    """

    x: Array
    table: Array | None
    out: Array


@record
class HeadBack:
    """Gradients of x, of a tied table's use here, and of the head's own weights."""

    d_out: Array
    d_table: Array | None
    d_x: Array
    params: "Head | TiedHead"


@record
class Head(Layer):
    """logits = x w, with a matrix of its own (d_model, vocab_size)."""

    w: Array

    FORMULAS = linear.FORMULAS.without("bias").rename(b="b t", j="n", y="out")

    @classmethod
    def init(cls, d_model: int, vocab_size: int, rng: np.random.Generator) -> "Head":
        """Weights uniform in ±1/sqrt(d_model)."""
        return cls(uniform(rng, 1 / sqrt(d_model), d_model, vocab_size))

    def forward(
        self, x: Array, table: Array, *, ops: ModuleType = plain
    ) -> tuple[Array, HeadCache]:
        """logits (b, t, vocab_size); the embedding's table is of no use here."""
        out = ops.linear.forward(x, self.w, None)
        return out, HeadCache(x, None, out)

    def backward(self, d_out: Array, cache: HeadCache, *, ops: ModuleType = plain) -> HeadBack:
        """Gradients from d_out (b, t, vocab_size)."""
        d_x, d_w, _ = ops.linear.backward(d_out, cache.x, self.w, None)
        return HeadBack(d_out, None, d_x, Head(d_w))


@record
class TiedHead(Layer):
    """logits = x table^T: the embedding's table again, so it has no weights of its own.

    Source: Press and Wolf 2017; Vaswani et al. 2017, section 3.4.
    """

    FORMULAS = tied_linear.FORMULAS.rename(b="b t", y="out")

    def forward(
        self, x: Array, table: Array, *, ops: ModuleType = plain
    ) -> tuple[Array, HeadCache]:
        """logits (b, t, vocab_size) from x and the embedding's table (vocab_size, d_model)."""
        out = ops.tied_linear.forward(x, table, None)
        return out, HeadCache(x, table, out)

    @property
    def absent(self) -> tuple[str, ...]:
        """A tied head has no bias."""
        return ("bias",)

    def backward(self, d_out: Array, cache: HeadCache, *, ops: ModuleType = plain) -> HeadBack:
        """Gradients from d_out (b, t, vocab_size); d_table belongs to the embedding."""
        assert cache.table is not None
        d_x, d_table, _ = ops.tied_linear.backward(d_out, cache.x, cache.table, None)
        return HeadBack(d_out, d_table, d_x, TiedHead())


@record
class MaskedTokenCache:
    """x, pre, post (b, t, d_model), the norm's own, out (b, t, vocab_size): the logits."""

    x: Array
    pre: Array
    post: Array
    norm: LayerNormCache
    table: Array | None
    out: Array


@record
class MaskedTokenBack:
    """The gradient of every value of the cache, of a tied table's use here, and of the weights."""

    d_out: Array
    d_table: Array | None
    norm: LayerNormBack
    d_post: Array
    d_pre: Array
    d_x: Array
    params: "MaskedTokenHead"


@record
class MaskedTokenHead(Layer):
    """logits = norm(gelu(x w + b)) table^T + bias, or w_out in the table's place where it isn't
    tied.

    w (d_model, d_model), b (d_model), bias (vocab_size), w_out (d_model, vocab_size) or None.

    Source: Devlin et al. 2019, the masked language model.
    """

    w: Array
    b: Array
    norm: LayerNorm
    bias: Array
    w_out: Array | None

    @property
    def sheet(self) -> Sheet:
        """A linear map, the exact GELU, the norm's own, and the last map: tied or not."""
        last = (
            tied_linear.FORMULAS.rename(b="b t", x="norm.out", d_x="norm.d_out", y="out")
            if self.w_out is None
            else linear.FORMULAS.rename(
                b="b t", j="n", x="norm.out", d_x="norm.d_out", w="w_out", y="out"
            )
        )
        return (
            linear.FORMULAS.rename(b="b t", bias="b", y="pre")
            + gelu.FORMULAS.rename(b="b t j", x="pre", y="post")
            + last
        )

    @classmethod
    def init(
        cls, d_model: int, vocab_size: int, rng: np.random.Generator, *, tied: bool, eps: float
    ) -> "MaskedTokenHead":
        """Weights uniform in ±1/sqrt(d_model), biases 0."""
        bound = 1 / sqrt(d_model)
        w, b = uniform(rng, bound, d_model, d_model), np.zeros(d_model)
        w_out = None if tied else uniform(rng, bound, d_model, vocab_size)
        return cls(w, b, LayerNorm.init(d_model, eps=eps), np.zeros(vocab_size), w_out)

    def forward(
        self, x: Array, table: Array, *, ops: ModuleType = plain
    ) -> tuple[Array, MaskedTokenCache]:
        """logits (b, t, vocab_size) from x (b, t, d_model) and the embedding's table."""
        pre = ops.linear.forward(x, self.w, self.b)
        post = ops.gelu.forward(pre)
        normed, norm = self.norm.forward(post, ops=ops)
        if self.w_out is None:
            out = ops.tied_linear.forward(normed, table, self.bias)
        else:
            out = ops.linear.forward(normed, self.w_out, self.bias)
        used = table if self.w_out is None else None
        return out, MaskedTokenCache(x, pre, post, norm, used, out)

    def backward(
        self, d_out: Array, cache: MaskedTokenCache, *, ops: ModuleType = plain
    ) -> MaskedTokenBack:
        """Gradients from d_out (b, t, vocab_size)."""
        d_w_out = d_table = None
        if self.w_out is None:
            d_normed, d_table, d_bias = ops.tied_linear.backward(
                d_out, cache.norm.out, cache.table, self.bias
            )
        else:
            d_normed, d_w_out, d_bias = ops.linear.backward(
                d_out, cache.norm.out, self.w_out, self.bias
            )
        norm = self.norm.backward(d_normed, cache.norm, ops=ops)
        d_pre = ops.gelu.backward(norm.d_x, cache.pre)
        d_x, d_w, d_b = ops.linear.backward(d_pre, cache.x, self.w, self.b)
        params = MaskedTokenHead(d_w, d_b, norm.params, d_bias, d_w_out)
        return MaskedTokenBack(d_out, d_table, norm, norm.d_x, d_pre, d_x, params)
