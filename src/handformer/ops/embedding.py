"""Embedding: each token takes its row of a table, times a fixed scale where the model has one.

Forward    y = scale * table[token]: a product with a one-hot row, without the zeros. The scale is
           1, or sqrt(d_model) in the paper, which brings a small table up to the size of the
           position code.
Backward   a row's gradient is the sum over all the places where its token stands: repeated tokens
           add up.
Kept       the tokens. The op is linear: neither the table's entries nor y are needed.
Delicate   a table that is kept in 16 bits gives rows in float32: that is what is computed in.
           `d_table[tokens] += d_y` keeps only the last of repeated tokens. The places are sorted by
           token, so that each token's rows stand together and are summed in the order of the text:
           the same result on every run. Rows of tokens that don't occur are exactly 0.
Source     Vaswani et al. 2017, section 3.4.
"""

import numpy as np

from handformer.axes import Array, IntArray
from handformer.errors import InputError
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    y[b,i]       = scale * table[tokens[b],i]
    d_table[n,i] = scale * sum(b, where(tokens[b] == n, d_y[b,i], 0))
""")


def forward(tokens: IntArray, table: Array, scale: float) -> Array:
    """y of shape (..., d_model) from tokens (...) and table (vocab_size, d_model).

    Raises
    ------
    InputError
        for a token that has no row: a negative one would count from the table's end
    """
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < len(table)):
        wrong = tokens.min() if tokens.min() < 0 else tokens.max()
        raise InputError(
            f"token {wrong} has no row in a table of {len(table)}: expected 0 to {len(table) - 1}; "
            "encode the text with the model's own tokenizer"
        )
    y: Array = table[tokens]
    if y.itemsize < 4:
        y = y.astype(np.float32)
    return y if scale == 1 else y * scale


def backward(d_y: Array, tokens: IntArray, table: Array, scale: float) -> Array:
    """d_table of the shape of table from d_y (..., d_model)."""
    d_table = np.zeros(table.shape, d_y.dtype)
    places = tokens.reshape(-1)
    order = np.argsort(places, kind="stable")
    places, rows = places[order], d_y.reshape(-1, d_y.shape[-1])[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))  # where each token's rows begin
    d_table[places[first]] = np.add.reduceat(rows, first, axis=0)
    return d_table if scale == 1 else d_table * scale
