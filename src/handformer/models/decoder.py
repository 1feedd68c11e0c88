"""The decoder: GPT-2's shape and Llama's, from one class; what differs is in its parts."""

from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.formula import Sheet
from handformer.layers.dropout import Dropout, DropoutBack, DropoutCache
from handformer.layers.embedding import Embedding, EmbeddingBack, EmbeddingCache
from handformer.layers.flash_attention import FlashAttention
from handformer.layers.head import Head, HeadBack, HeadCache, TiedHead
from handformer.layers.layer import Layer
from handformer.layers.mlp import MLP, GatedMLP
from handformer.layers.multi_head import MultiHeadAttention
from handformer.layers.norm import LayerNorm, Norm, NormBack, NormCache, RMSNorm
from handformer.layers.position import Rotary
from handformer.layers.pre_norm import PreNormBack, PreNormBlock, PreNormCache
from handformer.models.config import ModelConfig, check_family
from handformer.models.init import NO_DRAWS, draw
from handformer.models.past import CAUSAL, POSITIONS, Past, look_back
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class DecoderCache:
    """tokens, valid, positions (b, t), mask (b, t, s), x (b, t, d_model), and the parts' own."""

    tokens: IntArray
    valid: BoolArray
    positions: IntArray
    mask: BoolArray
    embedding: EmbeddingCache
    position_embedding: EmbeddingCache | None
    x: Array
    dropout: DropoutCache
    blocks: tuple[PreNormCache, ...]
    norm: NormCache
    head: HeadCache


@record
class DecoderBack:
    """The gradients of every part, from the logits down to the tables."""

    head: HeadBack
    norm: NormBack
    blocks: tuple[PreNormBack, ...]
    dropout: DropoutBack
    d_x: Array
    position_embedding: EmbeddingBack | None
    embedding: EmbeddingBack
    params: "Decoder"


@record
class Decoder(Layer):
    """Tokens in, logits for the next token out; no token sees a later one.

    `position_embedding` is None where the blocks take care of positions themselves (rotary).

    Source: Radford et al. 2019 (GPT-2); Touvron et al. 2023 (Llama).
    """

    embedding: Embedding
    position_embedding: Embedding | None
    dropout: Dropout
    blocks: tuple[PreNormBlock, ...]
    norm: Norm
    head: Head | TiedHead
    config: ModelConfig

    FORMULAS = (
        POSITIONS
        + CAUSAL
        + Sheet.parse("x[b,t,i] = embedding.out[b,t,i] + position_embedding.out[b,t,i]")
    )

    @property
    def absent(self) -> tuple[str, ...]:
        """The learned positions, where there are none."""
        return ("position_embedding.out",) if self.position_embedding is None else ()

    @classmethod
    def init(
        cls, config: ModelConfig, *, seed: int = 0, dtype: np.dtype | type = np.float32
    ) -> "Decoder":
        """A new model of family gpt2 or llama, its weights drawn as `models.init` explains."""
        return draw(cls.outline(config), config, seed, dtype)

    @classmethod
    def outline(cls, config: ModelConfig) -> "Decoder":
        """The model with all its parts and shapes, before its matrices are drawn."""
        check_family(config, "gpt2", "llama")
        rng = NO_DRAWS  # `draw` sets every matrix
        llama = config.family == "llama"
        attend = FlashAttention if config.attention == "flash" else MultiHeadAttention

        def norm() -> Norm:
            make = RMSNorm.init if llama else LayerNorm.init
            return make(config.d_model, eps=config.norm_eps)

        def block() -> PreNormBlock:
            attention = attend.init(
                config.d_model, config.n_heads, rng, n_kv_heads=config.kv_heads,
                d_k=config.head_width, bias=not llama, dropout=config.dropout,
                position=Rotary(config.rope_base) if llama else None,
            )  # fmt: skip
            mlp = (GatedMLP if llama else MLP).init(config.d_model, config.hidden, rng)
            dropout = Dropout(config.dropout)
            return PreNormBlock(norm(), attention, dropout, norm(), mlp, dropout)

        return cls(
            embedding=Embedding.init(config.vocab_size, config.d_model, rng),
            position_embedding=None
            if llama
            else Embedding.init(config.context, config.d_model, rng),
            dropout=Dropout(config.dropout),
            blocks=tuple(block() for _ in range(config.n_layers)),
            norm=norm(),
            head=TiedHead()
            if config.tied_head
            else Head.init(config.d_model, config.vocab_size, rng),
            config=config,
        )

    def forward(
        self,
        tokens: IntArray,
        *,
        valid: BoolArray | None = None,
        drop: Drops = NO_DROPOUT,
        ops: ModuleType = plain,
    ) -> tuple[Array, DecoderCache]:
        """Logits for every position, and every value on the way.

        Parameters
        ----------
        tokens
            (b, t) or (t) entries of the vocabulary, t at most the context
        valid
            (b, t), true where a token is real; padding is seen by nobody and moves no position
        drop
            what draws the dropout masks; NO_DROPOUT keeps everything

        Returns
        -------
        logits (b, t, vocab_size), cache
        """
        valid, positions, mask = look_back(tokens, valid, None, self.config.context, ops)
        x, embedding = self.embedding.forward(tokens, ops=ops)
        place = None
        if self.position_embedding is not None:
            placed, place = self.position_embedding.forward(positions, ops=ops)
            x = ops.add.forward(x, placed)
        out, dropout = self.dropout.forward(x, drop=drop.at("dropout"), ops=ops)
        blocks = []
        for number, block in enumerate(self.blocks):
            out, cache = block.forward(
                out, mask=mask, positions=positions, drop=drop.at(f"blocks.{number}"), ops=ops
            )
            blocks.append(cache)
        normed, norm = self.norm.forward(out, ops=ops)
        logits, head = self.head.forward(normed, self.embedding.table, ops=ops)
        return logits, DecoderCache(
            tokens, valid, positions, mask, embedding, place, x, dropout, tuple(blocks), norm, head
        )

    def backward(
        self, d_logits: Array, cache: DecoderCache, *, ops: ModuleType = plain
    ) -> DecoderBack:
        """The gradient of every value, and of the weights, from d_logits (b, t, vocab_size)."""
        head = self.head.backward(d_logits, cache.head, ops=ops)
        norm = self.norm.backward(head.d_x, cache.norm, ops=ops)  # type: ignore[arg-type]
        d_out = norm.d_x
        blocks: list[PreNormBack] = []
        for block, block_cache in zip(reversed(self.blocks), reversed(cache.blocks), strict=True):
            blocks.insert(0, block.backward(d_out, block_cache, ops=ops))
            d_out = blocks[0].d_x
        dropout = self.dropout.backward(d_out, cache.dropout, ops=ops)
        place = None
        if self.position_embedding is not None and cache.position_embedding is not None:
            place = self.position_embedding.backward(dropout.d_x, cache.position_embedding, ops=ops)
        embedding = self.embedding.backward(  # a tied table was used twice
            dropout.d_x, cache.embedding, d_table_elsewhere=head.d_table, ops=ops
        )
        params = Decoder(
            embedding.params, None if place is None else place.params, self.dropout,
            tuple(back.params for back in blocks), norm.params, head.params, self.config,
        )  # fmt: skip
        return DecoderBack(
            head, norm, tuple(blocks), dropout, dropout.d_x, place, embedding, params
        )

    def extend(
        self,
        tokens: IntArray,
        past: Past | None,
        *,
        valid: BoolArray | None = None,
        ops: ModuleType = plain,
    ) -> tuple[Array, Past]:
        """The same logits for new tokens (b, t) after `past`, no record, and the new past."""
        valid, positions, mask = look_back(tokens, valid, past, self.config.context, ops)
        x, _ = self.embedding.forward(tokens, ops=ops)
        if self.position_embedding is not None:
            x = x + self.position_embedding.forward(positions, ops=ops)[0]
        kept = []
        for number, block in enumerate(self.blocks):
            before = None if past is None else past.blocks[number]
            x, after = block.extend(x, before, mask=mask, positions=positions, ops=ops)
            kept.append(after)
        normed, _ = self.norm.forward(x, ops=ops)
        logits, _ = self.head.forward(normed, self.embedding.table, ops=ops)
        return logits, Past(tuple(kept), valid)
