"""What an encoder-decoder keeps of a pass: every value forward, and every gradient backward."""

from typing import TYPE_CHECKING

from handformer.axes import Array, BoolArray, IntArray, record
from handformer.layers.cross_block import CrossBlockBack, CrossBlockCache
from handformer.layers.dropout import DropoutBack, DropoutCache
from handformer.layers.embedding import EmbeddingBack, EmbeddingCache, SinusoidalCache
from handformer.layers.head import HeadBack, HeadCache
from handformer.layers.post_norm import PostNormBack, PostNormCache

if TYPE_CHECKING:
    from handformer.models.encoder_decoder import EncoderDecoder


@record
class EncoderDecoderCache:
    """Of each side tokens, valid, positions (b, t) and the embeddings' sum x (b, t, d_model); the
    parts' own.

    mask (b, t, t) is the written side's; memory (b, s, d_model) is what the encoder made of the
    source.
    """

    source: IntArray
    source_valid: BoolArray
    source_embedding: EmbeddingCache
    source_positions: SinusoidalCache
    source_x: Array
    source_dropout: DropoutCache
    encoder: tuple[PostNormCache, ...]
    memory: Array
    tokens: IntArray
    valid: BoolArray
    positions: IntArray
    mask: BoolArray
    target_embedding: EmbeddingCache
    target_positions: SinusoidalCache
    x: Array
    target_dropout: DropoutCache
    decoder: tuple[CrossBlockCache, ...]
    head: HeadCache


@record
class EncoderDecoderBack:
    """The gradients of every part, from the logits down to both tables."""

    head: HeadBack
    decoder: tuple[CrossBlockBack, ...]
    target_dropout: DropoutBack
    d_x: Array
    d_memory: Array
    encoder: tuple[PostNormBack, ...]
    source_dropout: DropoutBack
    d_source_x: Array
    source_embedding: EmbeddingBack
    target_embedding: EmbeddingBack
    params: "EncoderDecoder"
