"""Embedding, compiled."""

import numpy as np

from handformer.axes import Array, IntArray
from handformer.fast.compiled import compiled, known, rows
from handformer.fast.memory import zeros
from handformer.ops import embedding as plain

forward = plain.forward  # NumPy's own look-up is as fast


@compiled
def _add_at(tokens: IntArray, rows_d_y: Array, scale: float, d_table: Array) -> None:
    factor = rows_d_y.dtype.type(scale)
    for place in range(tokens.size):
        row = tokens[place]
        for i in range(rows_d_y.shape[1]):
            d_table[row, i] += factor * rows_d_y[place, i]


def backward(d_y: Array, tokens: IntArray, table: Array, scale: float) -> Array:
    """d_table of the shape of table from d_y (..., d_model), summed in the order of the text."""
    outside = tokens.size and (tokens.min() < 0 or tokens.max() >= len(table))
    if not known(d_y, table) or outside or d_y.shape != (*tokens.shape, table.shape[1]):
        return plain.backward(d_y, tokens, table, scale)
    d_table = zeros(table.shape, d_y.dtype)  # mostly rows that nobody writes to
    _add_at(np.ascontiguousarray(tokens).reshape(-1), rows(d_y), scale, d_table)
    return d_table
