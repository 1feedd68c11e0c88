"""Batches of text: windows of token ids, and the ids that follow each of them.

A window of context + 1 ids gives both: the model reads all but the last, and is asked for all but
the first. That shift by one is made here, and nowhere else.

Training windows begin at random places, drawn from (seed, step) alone: no position has to be stored
for a resumed run to read on exactly as an unbroken one would have.
"""

from collections.abc import Iterator

import numpy as np

from handformer.axes import IntArray
from handformer.errors import InputError
from handformer.randomness import generator


def windows(
    ids: IntArray, *, context: int, batch: int, seed: int, step: int, micro: int = 0
) -> tuple[IntArray, IntArray]:
    """The windows of one training step.

    Parameters
    ----------
    ids
        the text, of shape (length,); every place where a whole window fits is equally likely
    batch
        windows in this micro-batch
    step
        number of the update
    micro
        number of the micro-batch within the update. The update's windows are one sequence that the
        micro-batches take in turn: one batch of 8 holds the same windows as two micro-batches of 4.

    Returns
    -------
    tokens, targets
        int64, of shape (batch, context); targets[b, t] is the id after tokens[b, t]

    Raises
    ------
    InputError
        if the text is shorter than one window
    """
    last = _last_start(ids, context)
    # Entries are drawn one after the other, so a longer draw begins with the shorter one.
    drawn = generator(seed, step, "batch").integers(last + 1, size=(micro + 1) * batch)
    return _cut(ids, drawn[micro * batch :], context)


def evaluation_windows(
    ids: IntArray, *, context: int, batch: int, count: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Up to `count` windows, evenly spaced over the text, in batches of up to `batch`.

    They are the same every time, so two losses differ by the model alone. They don't overlap: a
    text that holds fewer than `count` gives as many as it holds, and no id is judged twice.

    Raises
    ------
    InputError
        if the text is shorter than one window
    """
    last = _last_start(ids, context)
    count = min(count, (len(ids) - 1) // context)
    starts = np.arange(count) * last // max(1, count - 1)
    for first in range(0, count, batch):
        yield _cut(ids, starts[first : first + batch], context)


def _last_start(ids: IntArray, context: int) -> int:
    last = len(ids) - context - 1
    if last < 0:
        raise InputError(
            f"the text has {len(ids)} tokens, and a window needs {context + 1} (the context and "
            "one to predict): give more text or a smaller context"
        )
    return last


def _cut(ids: IntArray, starts: IntArray, context: int) -> tuple[IntArray, IntArray]:
    cut = ids[starts[:, None] + np.arange(context + 1)].astype(np.int64)
    return np.ascontiguousarray(cut[:, :-1]), np.ascontiguousarray(cut[:, 1:])
