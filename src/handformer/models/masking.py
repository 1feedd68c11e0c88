"""What a token may see, and which place it holds, in a batch of sequences of unequal lengths."""

import numpy as np

from handformer.axes import BoolArray, IntArray
from handformer.formula import Sheet

POSITIONS = Sheet.parse("positions[b,t] = sum(s, where(s < t and valid[b,s], 1, 0))")
CAUSAL = Sheet.parse("mask[b,t,s] = s <= t and valid[b,s]")


def all_valid(tokens: IntArray, valid: BoolArray | None) -> BoolArray:
    """`valid` (b, t), true where a token is real; all of them where none is given."""
    return np.broadcast_to(np.True_, tokens.shape) if valid is None else valid


def places(valid: BoolArray) -> IntArray:
    """The position of every token (b, t): the number of real ones before it, so padding moves nothing."""
    return np.cumsum(valid, axis=-1) - valid
