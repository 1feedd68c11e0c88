"""What a model sees of a text that is longer than its context: the window.

A model has places for `context` tokens and no more. The rule:

- of a prompt longer than the context, the last `context` tokens are seen;
- when the window is full and another token comes, the oldest half of the window is forgotten (the
  larger half, where context is odd), and the rest is read again, at positions from 0 on.

A half, and not one token at a time: so the past has to be read again only once every context / 2
tokens, and all other tokens cost one step of the cache. What is seen follows from the lengths
alone, so generation with a cache, without one, in pieces and in batches all see the same.
"""

from collections.abc import Sequence

import numpy as np

from handformer.axes import BoolArray, IntArray

Ids = Sequence[int] | IntArray


def start(prompt: int, length: int, context: int) -> int:
    """The place of the first token seen in a text of `length` tokens, of which `prompt` were given.

    The window is text[start:length]. It holds at least one token and at most `context`.
    """
    first = max(0, prompt - context)
    beyond = length - first - context
    half = (context + 1) // 2
    turns = max(0, -(-beyond // half))
    return first + turns * half


def pad(rows: Sequence[Ids]) -> tuple[IntArray, BoolArray]:
    """Rows of unequal length side by side, padded on the left: tokens and valid, (b, t) both.

    On the left, so that every row's last token stands in the last column, where its next is read.
    """
    width = max(len(row) for row in rows)
    tokens = np.zeros((len(rows), width), dtype=np.int64)
    valid = np.zeros((len(rows), width), dtype=np.bool_)
    for place, row in enumerate(rows):
        tokens[place, width - len(row) :] = row
        valid[place, width - len(row) :] = True
    return tokens, valid
