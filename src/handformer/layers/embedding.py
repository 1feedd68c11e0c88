"""Embeddings: a row of a table for every token, position or token type; and positions without a
table.
"""

from math import sqrt
from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, IntArray, record
from handformer.formula import Sheet
from handformer.layers.layer import Layer, uniform
from handformer.ops import embedding, sinusoidal


@record
class EmbeddingCache:
    """tokens (b, t), out (b, t, d_model)."""

    tokens: IntArray
    out: Array


@record
class EmbeddingBack:
    """d_table's parts: from looking up, and from wherever else the table is used (a tied head)."""

    d_out: Array
    d_table_lookup: Array
    d_table_elsewhere: Array | None
    params: "Embedding"


@record
class Embedding(Layer):
    """out = scale * table[tokens]; table has shape (entries, d_model).

    The scale is sqrt(d_model) in the 2017 model (section 3.4), 1 elsewhere.
    """

    table: Array
    scale: float = 1.0

    FORMULAS = embedding.FORMULAS.rename(b="b t", y="out", d_table="d_table_lookup") + Sheet.parse(
        "d_table[n,i] = d_table_lookup[n,i] + d_table_elsewhere[n,i]"
    )

    @classmethod
    def init(
        cls, entries: int, d_model: int, rng: np.random.Generator, *, scale: float = 1.0
    ) -> "Embedding":
        """Entries uniform in ±1/sqrt(d_model)."""
        return cls(uniform(rng, 1 / sqrt(d_model), entries, d_model), scale)

    def forward(self, tokens: IntArray, *, ops: ModuleType = plain) -> tuple[Array, EmbeddingCache]:
        """out (b, t, d_model) from tokens (b, t)."""
        out = ops.embedding.forward(tokens, self.table, self.scale)
        return out, EmbeddingCache(tokens, out)

    def backward(
        self,
        d_out: Array,
        cache: EmbeddingCache,
        *,
        d_table_elsewhere: Array | None = None,
        ops: ModuleType = plain,
    ) -> EmbeddingBack:
        """The table's gradient from d_out (b, t, d_model), and what reached it by another way."""
        lookup = ops.embedding.backward(d_out, cache.tokens, self.table, self.scale)
        whole = lookup
        if d_table_elsewhere is not None:
            whole = ops.add.forward(lookup, d_table_elsewhere)
        return EmbeddingBack(d_out, lookup, d_table_elsewhere, Embedding(whole, self.scale))


@record
class SinusoidalCache:
    """positions (b, t), out (b, t, d_model)."""

    positions: IntArray
    out: Array


@record
class SinusoidalPositions(Layer):
    """Sines and cosines of the position, from fast to slow: nothing to learn.

    Source: Vaswani et al. 2017, section 3.5.
    """

    d_model: int
    base: float = 10000.0

    FORMULAS = sinusoidal.FORMULAS.rename(b="b t", y="out")

    def forward(
        self, positions: IntArray, *, dtype: np.dtype, ops: ModuleType = plain
    ) -> tuple[Array, SinusoidalCache]:
        """out (b, t, d_model) of the given dtype from positions (b, t)."""
        out = ops.sinusoidal.forward(positions, self.d_model, self.base, dtype)
        return out, SinusoidalCache(positions, out)
