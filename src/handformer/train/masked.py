"""Masked tokens, BERT's exercise: some tokens are hidden, and the model says what they were.

Of every sequence's tokens 15 % are chosen, at least one. Of the chosen ones 80 % become the mask
token, 10 % a random token and 10 % stay as they are: text that is used later holds no mask token,
so the model must not learn that only masked places matter.

Source: Devlin et al. 2019, section 3.1 and appendix A.1.
"""

from collections.abc import Collection

import numpy as np

from handformer.axes import BoolArray, IntArray
from handformer.errors import InputError
from handformer.ops.cross_entropy import IGNORED
from handformer.randomness import generator

CHOSEN, MASKED, REPLACED = 0.15, 0.8, 0.1


def mask(
    tokens: IntArray,
    *,
    mask_id: int,
    vocab_size: int,
    seed: int,
    step: int,
    micro: int = 0,
    valid: BoolArray | None = None,
    special: Collection[int] = (),
    place: str = "mask",
) -> tuple[IntArray, IntArray]:
    """Hide tokens of a batch.

    Parameters
    ----------
    tokens
        ids of shape (batch, length)
    step, micro
        number of the update and of the micro-batch within it, as in `batches.windows`; each
        sequence has draws of its own, so how an update is cut into micro-batches changes nothing
    valid
        of the tokens' shape; false at padding, which is never chosen
    special
        ids that are never chosen and never put in as a random token; the mask token is always
        among them
    place
        name of the place, for draws that must differ from the training's

    Returns
    -------
    inputs, targets
        int64, of the tokens' shape; targets hold the original id where a token was chosen and
        -100 elsewhere

    Raises
    ------
    InputError
        if no token can be chosen, or no id is left to put in
    """
    reserved = np.array(sorted({mask_id, *special}))
    ordinary = np.setdiff1d(np.arange(vocab_size), reserved)
    free = ~np.isin(tokens, reserved)
    if valid is not None:
        free &= valid
    if not free.any() or not ordinary.size:
        what = "no token that could be masked" if ordinary.size else "special ids only"
        raise InputError(f"a batch of shape {tokens.shape} with {what}: expected ordinary tokens")
    inputs = tokens.astype(np.int64)
    targets = np.full(tokens.shape, IGNORED, dtype=np.int64)
    for row in range(len(tokens)):
        (places,) = free[row].nonzero()
        if not places.size:
            continue
        rng = generator(seed, step, f"{place}.{micro * len(tokens) + row}")
        count = max(1, round(CHOSEN * places.size))
        chosen = rng.choice(places, size=count, replace=False)
        targets[row, chosen] = tokens[row, chosen]
        fate = rng.random(count)
        random_ids = rng.choice(ordinary, size=count)
        inputs[row, chosen[fate < MASKED]] = mask_id
        replaced = (fate >= MASKED) & (fate < MASKED + REPLACED)
        inputs[row, chosen[replaced]] = random_ids[replaced]
    return inputs, targets
