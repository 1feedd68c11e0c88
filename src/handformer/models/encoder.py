"""The encoder: BERT's shape, every token seeing every other, with a head that guesses masked
tokens.
"""

from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.formula import Sheet
from handformer.layers.dropout import Dropout, DropoutBack, DropoutCache
from handformer.layers.embedding import Embedding, EmbeddingBack, EmbeddingCache
from handformer.layers.flash_attention import FlashAttention
from handformer.layers.head import MaskedTokenBack, MaskedTokenCache, MaskedTokenHead
from handformer.layers.layer import Layer
from handformer.layers.mlp import MLP
from handformer.layers.multi_head import MultiHeadAttention
from handformer.layers.norm import LayerNorm, LayerNormBack, LayerNormCache
from handformer.layers.post_norm import PostNormBack, PostNormBlock, PostNormCache
from handformer.models.config import ModelConfig, check_family
from handformer.models.init import NO_DRAWS, draw
from handformer.models.past import POSITIONS, all_valid, places
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class EncoderCache:
    """tokens, types, valid, positions (b, t), the parts' own; the embeddings' sum is `norm.x`."""

    tokens: IntArray
    types: IntArray
    valid: BoolArray
    positions: IntArray
    embedding: EmbeddingCache
    position_embedding: EmbeddingCache
    type_embedding: EmbeddingCache
    norm: LayerNormCache
    dropout: DropoutCache
    blocks: tuple[PostNormCache, ...]
    head: MaskedTokenCache


@record
class EncoderBack:
    """The gradients of every part, from the logits down to the tables."""

    head: MaskedTokenBack
    blocks: tuple[PostNormBack, ...]
    dropout: DropoutBack
    norm: LayerNormBack
    type_embedding: EmbeddingBack
    position_embedding: EmbeddingBack
    embedding: EmbeddingBack
    params: "Encoder"


@record
class Encoder(Layer):
    """Tokens and their types in, logits for every position out.

    Source: Devlin et al. 2019 (BERT).
    """

    embedding: Embedding
    position_embedding: Embedding
    type_embedding: Embedding
    norm: LayerNorm
    dropout: Dropout
    blocks: tuple[PostNormBlock, ...]
    head: MaskedTokenHead
    config: ModelConfig

    FORMULAS = POSITIONS + Sheet.parse("""
        norm.x[b,t,i] = embedding.out[b,t,i] + position_embedding.out[b,t,i]
                        + type_embedding.out[b,t,i]
    """)

    @classmethod
    def init(
        cls, config: ModelConfig, *, seed: int = 0, dtype: np.dtype | type = np.float32
    ) -> "Encoder":
        """A new model of family bert, its weights drawn as `models.init` explains."""
        return draw(cls.outline(config), config, seed, dtype)

    @classmethod
    def outline(cls, config: ModelConfig) -> "Encoder":
        """The model with all its parts and shapes, before its matrices are drawn."""
        check_family(config, "bert")
        rng = NO_DRAWS  # `draw` sets every matrix
        width, eps = config.d_model, config.norm_eps
        dropout = Dropout(config.dropout)
        attend = FlashAttention if config.attention == "flash" else MultiHeadAttention

        def block() -> PostNormBlock:
            attention = attend.init(
                width, config.n_heads, rng, n_kv_heads=config.kv_heads, d_k=config.head_width,
                dropout=config.dropout,
            )  # fmt: skip
            mlp = MLP.init(width, config.hidden, rng, activation="gelu")
            norm_1, norm_2 = LayerNorm.init(width, eps=eps), LayerNorm.init(width, eps=eps)
            return PostNormBlock(attention, dropout, norm_1, mlp, dropout, norm_2)

        return cls(
            embedding=Embedding.init(config.vocab_size, width, rng),
            position_embedding=Embedding.init(config.context, width, rng),
            type_embedding=Embedding.init(config.n_types, width, rng),
            norm=LayerNorm.init(width, eps=eps),
            dropout=dropout,
            blocks=tuple(block() for _ in range(config.n_layers)),
            head=MaskedTokenHead.init(
                width, config.vocab_size, rng, tied=config.tied_head, eps=eps
            ),
            config=config,
        )

    def forward(
        self,
        tokens: IntArray,
        *,
        types: IntArray | None = None,
        valid: BoolArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, EncoderCache]:
        """Logits (b, t, vocab_size) from tokens (b, t), and every value on the way.

        types (b, t) names each token's type, 0 where none are given; valid as in `Decoder.forward`.
        """
        valid = all_valid(tokens, valid)
        positions = places(valid, self.config.context)
        types = np.zeros_like(tokens) if types is None else types
        mask = ops.masks.padding.forward(valid, tokens.shape[-1])
        looked_up, embedding = self.embedding.forward(tokens, ops=ops)
        placed, position_embedding = self.position_embedding.forward(positions, ops=ops)
        typed, type_embedding = self.type_embedding.forward(types, ops=ops)
        summed = ops.add.forward(looked_up, placed, typed)
        normed, norm = self.norm.forward(summed, ops=ops)
        out, dropout = self.dropout.forward(normed, drop=drop.at("dropout"), ops=ops)
        blocks = []
        for number, block in enumerate(self.blocks):
            out, cache = block.forward(out, mask=mask, drop=drop.at(f"blocks.{number}"), ops=ops)
            blocks.append(cache)
        logits, head = self.head.forward(out, self.embedding.table, ops=ops)
        return logits, EncoderCache(
            tokens, types, valid, positions, embedding, position_embedding, type_embedding, norm,
            dropout, tuple(blocks), head,
        )  # fmt: skip

    def backward(
        self, d_logits: Array, cache: EncoderCache, *, ops: ModuleType = plain
    ) -> EncoderBack:
        """The gradient of every value, and of the weights, from d_logits (b, t, vocab_size)."""
        head = self.head.backward(d_logits, cache.head, ops=ops)
        d_out = head.d_x
        blocks: list[PostNormBack] = []
        for block, block_cache in zip(reversed(self.blocks), reversed(cache.blocks), strict=True):
            blocks.insert(0, block.backward(d_out, block_cache, ops=ops))
            d_out = blocks[0].d_x
        dropout = self.dropout.backward(d_out, cache.dropout, ops=ops)
        norm = self.norm.backward(dropout.d_x, cache.norm, ops=ops)
        # The sum of three embeddings sends its gradient to each.
        types = self.type_embedding.backward(norm.d_x, cache.type_embedding, ops=ops)
        placed = self.position_embedding.backward(norm.d_x, cache.position_embedding, ops=ops)
        embedding = self.embedding.backward(  # a tied table was used twice
            norm.d_x, cache.embedding, d_table_elsewhere=head.d_table, ops=ops
        )
        params = Encoder(
            embedding.params, placed.params, types.params, norm.params, self.dropout,
            tuple(back.params for back in blocks), head.params, self.config,
        )  # fmt: skip
        return EncoderBack(head, tuple(blocks), dropout, norm, types, placed, embedding, params)
