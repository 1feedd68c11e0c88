"""The encoder-decoder of 2017: one sequence is read, another is written while looking at it."""

from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.formula import Sheet
from handformer.layers.cross_attention import CrossAttention
from handformer.layers.cross_block import CrossBlock, CrossBlockBack
from handformer.layers.dropout import Dropout
from handformer.layers.embedding import (
    Embedding,
    EmbeddingCache,
    SinusoidalCache,
    SinusoidalPositions,
)
from handformer.layers.head import Head, TiedHead
from handformer.layers.heads import KeysValues
from handformer.layers.layer import Layer
from handformer.layers.mlp import MLP
from handformer.layers.multi_head import MultiHeadAttention
from handformer.layers.norm import LayerNorm
from handformer.layers.post_norm import PostNormBack, PostNormBlock
from handformer.models.config import ModelConfig, check_family
from handformer.models.encoder_decoder_record import EncoderDecoderBack, EncoderDecoderCache
from handformer.models.init import NO_DRAWS, draw
from handformer.models.past import CAUSAL, POSITIONS, Past, all_valid, look_back, places
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class EncoderDecoder(Layer):
    """Source tokens and the target so far in, logits for the target's next tokens out.

    `source_embedding` is None where source and target share one table, the target's.

    Source: Vaswani et al. 2017.
    """

    source_embedding: Embedding | None
    source_positions: SinusoidalPositions
    source_dropout: Dropout
    encoder: tuple[PostNormBlock, ...]
    target_embedding: Embedding
    target_positions: SinusoidalPositions
    target_dropout: Dropout
    decoder: tuple[CrossBlock, ...]
    head: Head | TiedHead
    config: ModelConfig

    @property
    def sheet(self) -> Sheet:
        """Both sums, the target's positions and mask; and the source's lookup in a shared table."""
        last = f"decoder.{len(self.decoder) - 1}"
        sums = (
            POSITIONS
            + POSITIONS.rename(
                t="s", s="r", positions="source_positions.positions", valid="source_valid"
            )
            + CAUSAL
            + Sheet.parse(f"""
                source_x[b,s,i] = source_embedding.out[b,s,i] + source_positions.out[b,s,i]
                x[b,t,i]        = target_embedding.out[b,t,i] + target_positions.out[b,t,i]
                {last}.d_memory_later[b,s,i] = 0
            """)
        )
        if self.source_embedding is not None:
            return sums
        own = ("out", "tokens", "d_out", "d_table", "d_table_lookup", "d_table_elsewhere")
        lookup = Embedding.FORMULAS.rename(**{name: f"source_embedding.{name}" for name in own})
        return sums + lookup.rename(table="target_embedding.table")

    @property
    def scalars(self) -> dict[str, float]:
        """The scale of a shared table."""
        return {"scale": self.target_embedding.scale}

    @classmethod
    def init(
        cls, config: ModelConfig, *, seed: int = 0, dtype: np.dtype | type = np.float32
    ) -> "EncoderDecoder":
        """A new model of family transformer, its weights drawn as `models.init` explains."""
        return draw(cls.outline(config), config, seed, dtype)

    @classmethod
    def outline(cls, config: ModelConfig) -> "EncoderDecoder":
        """The model with all its parts and shapes, before its matrices are drawn."""
        check_family(config, "transformer")
        rng = NO_DRAWS  # `draw` sets every matrix
        width, dropout = config.d_model, Dropout(config.dropout)
        heads: dict[str, Any] = {
            "n_kv_heads": config.kv_heads, "d_k": config.head_width, "dropout": config.dropout,
        }  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm.init(width, eps=config.norm_eps)

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention.init(width, config.n_heads, rng, **heads)

        def mlp() -> MLP:
            return MLP.init(width, config.hidden, rng, activation="relu")

        def cross() -> CrossAttention:
            return CrossAttention.init(width, config.n_heads, rng, **heads)

        def table(entries: int) -> Embedding:
            return Embedding.init(entries, width, rng, scale=sqrt(width))

        layers = range(config.n_layers)
        return cls(
            source_embedding=None
            if config.shared
            else table(config.source_vocab_size or config.vocab_size),
            source_positions=SinusoidalPositions(width),
            source_dropout=dropout,
            encoder=tuple(
                PostNormBlock(attention(), dropout, norm(), mlp(), dropout, norm()) for _ in layers
            ),
            target_embedding=table(config.vocab_size),
            target_positions=SinusoidalPositions(width),
            target_dropout=dropout,
            decoder=tuple(
                CrossBlock(
                    attention(), dropout, norm(), cross(), dropout, norm(), mlp(), dropout, norm()
                )
                for _ in layers
            ),
            head=TiedHead() if config.tied_head else Head.init(width, config.vocab_size, rng),
            config=config,
        )

    @property
    def source_table(self) -> Embedding:
        """The embedding that the source is looked up in."""
        return self.target_embedding if self.source_embedding is None else self.source_embedding

    def forward(
        self,
        source: IntArray,
        tokens: IntArray,
        *,
        source_valid: BoolArray | None = None,
        valid: BoolArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, EncoderDecoderCache]:
        """Logits (b, t, vocab_size) from source (b, s) and the target so far, tokens (b, t).

        source_valid (b, s) and valid (b, t) are true where a token is real; padding is seen by
        nobody.
        """
        source_valid = all_valid(source, source_valid)
        source_x, source_embedding, source_positions = _embed(
            self.source_table, self.source_positions, source,
            places(source_valid, self.config.context), ops,
        )  # fmt: skip
        out, source_dropout = self.source_dropout.forward(
            source_x, drop=drop.at("source_dropout"), ops=ops
        )
        encoder, mask = [], ops.masks.padding.forward(source_valid, source.shape[-1])
        for number, block in enumerate(self.encoder):
            out, cache = block.forward(out, mask=mask, drop=drop.at(f"encoder.{number}"), ops=ops)
            encoder.append(cache)
        memory = out

        valid, positions, mask = look_back(tokens, valid, None, self.config.context, ops)
        x, target_embedding, target_positions = _embed(
            self.target_embedding, self.target_positions, tokens, positions, ops
        )
        out, target_dropout = self.target_dropout.forward(
            x, drop=drop.at("target_dropout"), ops=ops
        )
        decoder, memory_mask = [], ops.masks.padding.forward(source_valid, tokens.shape[-1])
        for number, cross_block in enumerate(self.decoder):
            out, cross_cache = cross_block.forward(
                out, memory, mask=mask, memory_mask=memory_mask,
                drop=drop.at(f"decoder.{number}"), ops=ops,
            )  # fmt: skip
            decoder.append(cross_cache)
        logits, head = self.head.forward(out, self.target_embedding.table, ops=ops)
        return logits, EncoderDecoderCache(
            source, source_valid, source_embedding, source_positions, source_x, source_dropout,
            tuple(encoder), memory, tokens, valid, positions, mask, target_embedding,
            target_positions, x, target_dropout, tuple(decoder), head,
        )  # fmt: skip

    def backward(
        self, d_logits: Array, cache: EncoderDecoderCache, *, ops: ModuleType = plain
    ) -> EncoderDecoderBack:
        """The gradient of every value, and of the weights, from d_logits (b, t, vocab_size)."""
        head = self.head.backward(d_logits, cache.head, ops=ops)
        d_out, d_memory = head.d_x, np.zeros_like(cache.memory)
        decoder: list[CrossBlockBack] = []
        for cross_block, cross_cache in zip(
            reversed(self.decoder), reversed(cache.decoder), strict=True
        ):
            decoder.insert(0, cross_block.backward(d_out, cross_cache, d_memory, ops=ops))
            d_out, d_memory = decoder[0].d_x, decoder[0].d_memory
        target_dropout = self.target_dropout.backward(d_out, cache.target_dropout, ops=ops)

        d_out = d_memory
        encoder: list[PostNormBack] = []
        for block, block_cache in zip(reversed(self.encoder), reversed(cache.encoder), strict=True):
            encoder.insert(0, block.backward(d_out, block_cache, ops=ops))
            d_out = encoder[0].d_x
        source_dropout = self.source_dropout.backward(d_out, cache.source_dropout, ops=ops)

        # A table gathers what reaches it: the head's part, a shared source's, and its own lookup's.
        shared = self.source_embedding is None
        source_embedding = self.source_table.backward(
            source_dropout.d_x, cache.source_embedding,
            d_table_elsewhere=head.d_table if shared else None, ops=ops,
        )  # fmt: skip
        target_embedding = self.target_embedding.backward(
            target_dropout.d_x, cache.target_embedding,
            d_table_elsewhere=source_embedding.params.table if shared else head.d_table, ops=ops,
        )  # fmt: skip
        params = EncoderDecoder(
            None if shared else source_embedding.params, self.source_positions, self.source_dropout,
            tuple(back.params for back in encoder), target_embedding.params, self.target_positions,
            self.target_dropout, tuple(back.params for back in decoder), head.params, self.config,
        )  # fmt: skip
        return EncoderDecoderBack(
            head, tuple(decoder), target_dropout, target_dropout.d_x, d_memory, tuple(encoder),
            source_dropout, source_dropout.d_x, source_embedding, target_embedding, params,
        )  # fmt: skip

    def encode(
        self, source: IntArray, *, source_valid: BoolArray | None = None, ops: ModuleType = plain
    ) -> tuple[KeysValues, ...]:
        """What every decoder block will look at, keys and values a block, from source (b, s)."""
        valid = all_valid(source, source_valid)
        positions = places(valid, self.config.context)
        x, _, _ = _embed(self.source_table, self.source_positions, source, positions, ops)
        mask = ops.masks.padding.forward(valid, source.shape[-1])
        for block in self.encoder:
            x, _ = block.forward(x, mask=mask, ops=ops)
        return tuple(block.cross.remember(x, ops=ops) for block in self.decoder)

    def extend(
        self,
        tokens: IntArray,
        past: Past | None,
        memory: tuple[KeysValues, ...],
        *,
        source_valid: BoolArray,
        valid: BoolArray | None = None,
        ops: ModuleType = plain,
    ) -> tuple[Array, Past]:
        """The same logits for new target tokens (b, t) after `past`, without a record, and the new
        past.

        memory is what `encode` gave, source_valid (b, s) that of its source.
        """
        valid, positions, mask = look_back(tokens, valid, past, self.config.context, ops)
        memory_mask = ops.masks.padding.forward(source_valid, tokens.shape[-1])
        x, _, _ = _embed(self.target_embedding, self.target_positions, tokens, positions, ops)
        kept = []
        for number, block in enumerate(self.decoder):
            before = None if past is None else past.blocks[number]
            x, after = block.extend(
                x, before, memory[number], mask=mask, memory_mask=memory_mask, ops=ops
            )
            kept.append(after)
        logits, _ = self.head.forward(x, self.target_embedding.table, ops=ops)
        return logits, Past(tuple(kept), valid)


def _embed(
    embedding: Embedding,
    sinusoids: SinusoidalPositions,
    tokens: IntArray,
    positions: IntArray,
    ops: ModuleType,
) -> tuple[Array, EmbeddingCache, SinusoidalCache]:
    looked_up, embedded = embedding.forward(tokens, ops=ops)
    placed, positioned = sinusoids.forward(positions, dtype=looked_up.dtype, ops=ops)
    return ops.add.forward(looked_up, placed), embedded, positioned
