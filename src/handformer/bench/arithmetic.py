"""The matrix products of a training step, counted from the sizes of a decoder.

A matrix w (k, n) that N tokens pass through takes part in three products, each of 2 N k n
operations: y = x w, d_x = d_y w^T, d_w = x^T d_y. Hence 6 for each weight in a matrix and each
token. The table counts where it is the tied head; looking an entry up is no product.

Attention has six products a head, of 2 t t d_k operations each: scores, context, d_attn, d_v, d_q
and d_k. They count in full, as in the papers below, though a causal model could do with half.

Source     Kaplan et al. 2020, "Scaling laws for neural language models", section 2.1;
           Chowdhery et al. 2022, "PaLM", appendix B.
"""

from typing import NamedTuple

from handformer.models.config import ModelConfig, check_family


class Product(NamedTuple):
    """`times` products of (rows, inner) by (inner, columns)."""

    rows: int
    inner: int
    columns: int
    times: int

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.rows * self.inner * self.columns * self.times


def matrices(config: ModelConfig) -> list[tuple[int, int, int]]:
    """The matrices that every token passes through, as (in, out, how many of them).

    Raises
    ------
    InputError
        for a family that isn't a decoder
    """
    check_family(config, "gpt2", "llama")
    width, layers = config.d_model, config.n_layers
    heads, kv_heads = config.n_heads * config.head_width, config.kv_heads * config.head_width
    ups = 2 if config.family == "llama" else 1  # a gate is a second one
    return [
        (width, heads, layers),
        (width, kv_heads, 2 * layers),
        (heads, width, layers),
        (width, config.hidden, ups * layers),
        (config.hidden, width, layers),
        (width, config.vocab_size, 1),
    ]


def weights(config: ModelConfig) -> int:
    """The weights of these matrices together."""
    return sum(k * n * count for k, n, count in matrices(config))


def products(config: ModelConfig, batch: int) -> list[Product]:
    """Every matrix product of one step on `batch` windows of the whole context."""
    tokens, found = batch * config.context, []
    for k, n, count in matrices(config):
        found += [
            Product(tokens, k, n, count),
            Product(tokens, n, k, count),
            Product(k, tokens, n, count),
        ]
    t, d_k, heads = config.context, config.head_width, batch * config.n_heads * config.n_layers
    return [*found, Product(t, d_k, t, 2 * heads), Product(t, t, d_k, 4 * heads)]


def operations(config: ModelConfig, batch: int) -> int:
    """The operations of all of them."""
    return sum(product.operations for product in products(config, batch))
