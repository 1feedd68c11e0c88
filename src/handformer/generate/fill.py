"""Filling gaps: what stands behind the mask tokens of a text, an encoder's exercise."""

from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, IntArray, record
from handformer.errors import InputError
from handformer.generate.decode import check_finite, check_ids
from handformer.generate.window import Ids
from handformer.models import Encoder
from handformer.ops import softmax


@record
class Filled:
    """tokens (t): the text with its gaps filled. places (a): where they were.

    probs (a, n): what the model thinks of each gap; the mask token itself has 0.
    """

    tokens: IntArray
    places: IntArray
    probs: Array


def fill(
    model: Encoder,
    ids: Ids,
    *,
    mask_token: int,
    vocab_size: int | None = None,
    ops: ModuleType = plain,
) -> Filled:
    """Put the most probable token into each gap: wherever `mask_token` stands.

    All gaps are filled from one look at the text, so none knows what another was filled with.
    Entries from `vocab_size` on are the model's padding; None: there are none.

    Raises
    ------
    InputError
        for a text without a gap, without any token, or longer than the model's context, and for an
        id outside the vocabulary
    """
    context, entries = model.config.context, model.config.vocab_size
    check_ids("text", [ids], entries)
    tokens = np.array(ids, dtype=np.int64)
    (places,) = (tokens == mask_token).nonzero()
    if not places.size:
        raise InputError(
            f"no gap in a text of {len(ids)} tokens: expected the mask token in it, as in a [MASK]"
        )
    if len(ids) > context:
        raise InputError(
            f"the text has {len(ids)} tokens: expected at most {context}, its context; cut it"
        )
    logits, _ = model.forward(tokens[None], ops=ops)
    at_gaps = logits[0, places, :vocab_size]
    check_finite(at_gaps, places.tolist(), 0)
    at_gaps[:, mask_token] = -np.inf
    probs = softmax.forward(at_gaps)
    tokens[places] = probs.argmax(axis=-1)
    return Filled(tokens, places, probs)
