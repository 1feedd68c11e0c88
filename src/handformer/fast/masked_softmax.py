"""Softmax over the visible entries of each row, compiled: what is hidden costs no exponential."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array, BoolArray, IntArray
from handformer.fast.compiled import compiled, empty_like, known, rows
from handformer.fast.exponential import exp
from handformer.fast.softmax import backward
from handformer.ops import masked_softmax as plain

__all__ = ["backward", "forward", "row_by_row", "softmax_rows"]

_WHOLE = 32  # entries that a vectorised loop takes at once


@compiled
def softmax_rows(x: Array, mask: BoolArray, mask_row: IntArray, y: Array) -> None:
    """y (n, width) from x (n, width); row n of x has row mask_row[n] of the mask."""
    kind = x.dtype.type
    zero, hidden = kind(0), kind(-np.inf)
    ends = np.empty(mask.shape[0], np.int64)  # behind the last one that is visible
    for row in range(mask.shape[0]):
        end = mask.shape[1]
        while end > 0 and not mask[row, end - 1]:
            end -= 1
        whole = (end + _WHOLE - 1) // _WHOLE * _WHOLE  # a rest would be taken one by one
        ends[row] = min(whole, mask.shape[1])
    for row in range(x.shape[0]):
        seen, end = mask[mask_row[row]], ends[mask_row[row]]
        top = hidden
        for j in range(end):
            here = x[row, j] if seen[j] else hidden
            y[row, j] = here
            top = here if here > top else top  # a NaN comes back in the total
        if top == hidden:
            top = zero  # an empty row, or one of -inf
        total = zero
        for j in range(end):
            e = exp(y[row, j] - top)
            y[row, j] = e
            total += e
        share = zero if total == zero else kind(1) / total
        for j in range(end):
            y[row, j] *= share
        y[row, end:] = zero


def forward(x: Array, mask: BoolArray) -> Array:
    """y of the shape of x (..., n); mask, broadcast against x, is true where one is visible."""
    if not known(x):
        return plain.forward(x, mask)
    y = empty_like(x)
    softmax_rows(rows(x), *row_by_row(mask, x.shape), rows(y))
    return y


def row_by_row(array: NDArray[Any], shape: tuple[int, ...]) -> tuple[NDArray[Any], IntArray]:
    """An array as its different rows (n, width), and which of them each row of `shape` has.

    What broadcasting repeats is not copied, but for the last axis.
    """
    whole = np.broadcast_to(array, shape)
    repeated = tuple(slice(1) if stride == 0 else slice(None) for stride in whole.strides[:-1])
    own = whole[repeated]
    numbers = np.arange(math.prod(own.shape[:-1])).reshape(own.shape[:-1])
    which = np.broadcast_to(numbers, shape[:-1]).reshape(-1)
    return rows(own), which
