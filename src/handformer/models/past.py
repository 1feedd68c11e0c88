"""What a token may look back on: its place, what it sees, and what a model remembers of earlier
tokens.
"""

from types import ModuleType

import numpy as np

from handformer.axes import BoolArray, IntArray, record
from handformer.errors import InputError
from handformer.formula import Sheet
from handformer.layers.heads import KeysValues

POSITIONS = Sheet.parse("""
    positions[b,t] = where(valid[b,t], sum(s, where(s < t and valid[b,s], 1, 0)), 0)
""")
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
    """`valid` (b, t), true where a token is real; all of them where none is given.

    Raises
    ------
    InputError
        where it isn't boolean, or not of the tokens' shape
    """
    if valid is None:
        return np.broadcast_to(np.True_, tokens.shape)
    if valid.dtype != np.bool_ or valid.shape != tokens.shape:
        raise InputError(
            f"valid is of dtype {valid.dtype} and shape {valid.shape}, expected bool and the "
            f"tokens' shape {tokens.shape}, true where a token is real"
        )
    return valid


def places(valid: BoolArray, context: int) -> IntArray:
    """The position of every token (b, t): the number of real ones before it; 0 for padding.

    Raises
    ------
    InputError
        where a row has more real tokens than the context
    """
    longest = int(valid.sum(axis=-1).max(initial=0))
    if longest > context:
        raise InputError(
            f"a text of {longest} tokens is longer than the model's context of {context}: cut it"
        )
    return np.where(valid, np.cumsum(valid, axis=-1) - 1, 0)


def look_back(
    tokens: IntArray, valid: BoolArray | None, past: Past | None, context: int, ops: ModuleType
) -> tuple[BoolArray, IntArray, BoolArray]:
    """valid (b, s) of all tokens, and of the new ones positions (b, t) and mask (b, t, s)."""
    valid = all_valid(tokens, valid)
    if past is not None:
        valid = np.concatenate([past.valid, valid], axis=-1)
    n, n_keys = tokens.shape[-1], valid.shape[-1]
    positions = places(valid, context)[..., n_keys - n :]
    mask = ops.masks.padding.forward(valid, n)
    if n > 1:  # one alone is the last, and sees all that is real
        mask = ops.masks.combine(ops.masks.causal.forward(n, n_keys), mask)
    return valid, positions, mask
