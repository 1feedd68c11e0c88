"""The logit lens: what each layer's output would have predicted, had it been the last.

The rows after every block go through the model's own last norm and head, and the softmax of the
loss. Layer 0 is the sum of the embeddings.

Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
"""

from types import ModuleType
from typing import Any

import numpy as np

from handformer.axes import Array, IntArray
from handformer.models import Decoder
from handformer.models.decoder import DecoderCache
from handformer.ops.cross_entropy import IGNORED

LIKELIEST = 5  # tokens a place


def lens(model: Decoder, cache: DecoderCache, targets: IntArray, ops: ModuleType) -> dict[str, Any]:
    """The likeliest tokens and their probabilities (l, b, t, k), and that of the target (l, b, t).

    Where there is no target, its probability is 0.
    """
    rows: list[tuple[IntArray, Array, Array]] = []
    for x in (cache.x, *(block.out for block in cache.blocks)):
        normed, _ = model.norm.forward(x, ops=ops)
        logits, _ = model.head.forward(normed, model.embedding.table, ops=ops)
        probs = ops.cross_entropy.forward(logits, targets, 0.0).probs
        order = _likeliest(probs)
        at = np.where(targets == IGNORED, 0, targets)[..., None]
        aimed = np.take_along_axis(probs, at, axis=-1)[..., 0] * (targets != IGNORED)
        rows.append((order, np.take_along_axis(probs, order, axis=-1), aimed))
    tokens, likely, aimed_at = (np.stack(part) for part in zip(*rows, strict=True))
    return {"lens.tokens": tokens, "lens.probs": likely, "lens.target": aimed_at}


def _likeliest(probs: Array) -> IntArray:
    """The entries with the largest probabilities, the largest first."""
    count = min(LIKELIEST, probs.shape[-1])
    some = np.sort(np.argpartition(-probs, count - 1, axis=-1)[..., :count], axis=-1)
    order = np.argsort(-np.take_along_axis(probs, some, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(some, order, axis=-1)
