"""What a token may look back on: its place, what it sees, and what a model remembers of earlier
tokens.
"""

from types import ModuleType

import numpy as np

from handformer.axes import BoolArray, IntArray, record
from handformer.formula import Sheet
from handformer.layers.heads import KeysValues

POSITIONS = Sheet.parse("positions[b,t] = sum(s, where(s < t and valid[b,s], 1, 0))")
CAUSAL = Sheet.parse("mask[b,t,s] = s <= t and valid[b,s]")


@record
class Past:
    """What a model remembers of the tokens before: keys and values a block, and which were real."""

    blocks: tuple[KeysValues, ...]
    valid: BoolArray

    @property
    def length(self) -> int:
        """The number of tokens, padding included."""
        return int(self.valid.shape[-1])


def all_valid(tokens: IntArray, valid: BoolArray | None) -> BoolArray:
    """`valid` (b, t), true where a token is real; all of them where none is given."""
    return np.broadcast_to(np.True_, tokens.shape) if valid is None else valid


def places(valid: BoolArray) -> IntArray:
    """The position of every token (b, t): the number of real ones before it, so padding moves
    nothing.
    """
    return np.cumsum(valid, axis=-1) - valid


def look_back(
    tokens: IntArray, valid: BoolArray | None, past: Past | None, ops: ModuleType
) -> tuple[BoolArray, IntArray, BoolArray]:
    """valid (b, s) of all tokens, and of the new ones positions (b, t) and mask (b, t, s)."""
    valid = all_valid(tokens, valid)
    if past is not None:
        valid = np.concatenate([past.valid, valid], axis=-1)
    n, n_keys = tokens.shape[-1], valid.shape[-1]
    causal, padding = ops.masks.causal.forward(n, n_keys), ops.masks.padding.forward(valid, n)
    return valid, places(valid)[..., n_keys - n :], ops.masks.combine(causal, padding)
