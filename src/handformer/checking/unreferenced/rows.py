"""Rows that sum to 1, and rows of gradients that sum to 0."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.judged import BLIND, FEW, judged
from handformer.checking.unreferenced.mistaken import mistaken
from handformer.checking.unreferenced.seen import Given, Seen
from handformer.checking.unreferenced.visible import mask_of
from handformer.layers.single_head import SingleHeadAttention
from handformer.ops import masked_attention

# The way back through the softmax, and where the catalogue edits it.
_ALONE = SingleHeadAttention.FORMULAS.only("d_scores").rename(b=""), "SingleHeadAttention"
_HEADS = masked_attention.FORMULAS.only("d_scores"), "MultiHeadAttention"


def ask(seen: Seen) -> Iterator[Asked]:
    """The rows of attn and probs, of d_scores and d_logits."""
    for _, inside in seen.scopes("attn"):
        yield _positive(inside["attn"])
        yield _to_one(inside["attn"], empty=True)
    for _, inside in seen.scopes("probs"):
        if not _only_some(inside):
            yield _positive(inside["probs"])
            yield _to_one(inside["probs"], empty=False)
    for _, inside in seen.scopes("d_scores"):
        yield _d_scores(inside)
        if "attn" in inside and inside["attn"].array.shape == inside["d_scores"].array.shape:
            yield from _hidden(inside)
    for _, inside in seen.scopes("d_logits"):
        yield _d_logits(inside["d_logits"])


def _only_some(inside: Mapping[str, Given]) -> bool:
    """The lens keeps the greatest chances alone."""
    return inside["probs"].path.startswith("lens.")


def _positive(one: Given) -> Asked:
    return judged(
        one, "nothing is below 0", np.minimum(one.array, 0.0), 0.0,
        means="weights and chances are quotients of positive numbers: these are something else, "
        "scores or a gradient perhaps", hints=("DUMP-4",),
    )  # fmt: skip


def _to_one(one: Given, *, empty: bool) -> Asked:
    array, n = one.array, one.array.shape[-1]
    sums = array.sum(axis=-1)
    nothing = (array == 0).all(axis=-1) if empty else np.zeros(sums.shape, dtype=bool)
    allowed = (n + FEW) * one.unit * np.maximum(np.abs(array).sum(axis=-1), 1) + n * one.quantum
    off = np.where(nothing, 0.0, sums - 1)
    count = int(nothing.sum())
    said = f"{count} row{'s' if count > 1 else ''} of 0: a query that sees no key" if count else ""
    means, hints = _why(array, sums, empty=empty)
    return judged(one, "rows sum to 1", off, allowed, means=means, hints=hints, said=said)


def _why(array: NDArray[Any], sums: NDArray[Any], *, empty: bool) -> tuple[str, tuple[str, ...]]:
    """What rows that don't sum to 1 look like."""
    close = 1e-3
    if not np.isfinite(array).all():
        return "some numbers aren't finite", ("MASK-9", "SM-3")
    for axis in range(array.ndim - 1):
        others = array.sum(axis=axis)
        if np.abs(np.where(others == 0, 1.0, others) - 1).max() < close and array.shape[axis] > 1:
            where = "the columns" if axis == array.ndim - 2 else f"sums along axis {axis}"
            return f"{where} are 1 instead: the softmax runs over the wrong axis", ("SM-1",)
    wholes = array.sum(axis=(-1, -2)) if array.ndim >= 2 else np.ones(1)
    if np.abs(wholes - 1).max() < close or abs(array.sum() - 1) < close:
        return "all rows together sum to 1: it was normalised as a whole", ("SM-2",)
    if empty and (sums < 1 + close).all():
        return (
            "they sum to less: a mask after the softmax, without dividing again, or these are the "
            "weights after dropout"
        ), ("MASK-5", "SM-5", "DROP-1")
    return "it isn't divided by the row's own sum, or is something else", ("SM-2", "DROP-1")


def _d_scores(inside: Mapping[str, Given]) -> Asked:
    one = inside["d_scores"]
    array, n = one.array, one.array.shape[-1]
    attn, d_attn = inside.get("attn"), inside.get("d_attn") or inside.get("d_attn_kept")
    parts = [part for part in (attn, d_attn) if part and part.array.shape == array.shape]
    keep, known, like = inside.get("keep"), {}, {}
    # A row that sees one key alone has nothing but rounding in it: the largest row tells the size.
    size = np.broadcast_to(BLIND * np.abs(array).sum(axis=-1).max(initial=0), array.shape[:-1])
    if len(parts) == 2 and (keep is None or keep.array.all()):
        known = {"attn": parts[0], "d_attn": parts[1], "d_scores": one}
        size = 2 * np.abs(parts[0].array * parts[1].array).sum(axis=-1) + np.abs(array).sum(axis=-1)
    allowed = (n + FEW) * (one.unit * size + one.quantum)
    if attn is not None and attn.unit > one.unit:
        allowed = allowed + (n + FEW) * attn.unit * size
    sums = array.sum(axis=-1)
    if known and (np.abs(sums) > allowed).any():
        like = mistaken(*(_HEADS if array.ndim > 2 else _ALONE), known)
    return judged(
        one, "rows sum to 0", sums, allowed, said=next(iter(like.values()), ""),
        means="a softmax doesn't change when its row is shifted: its backward has the wrong row "
        "term", hints=tuple(like) or ("BA-1", "BA-2", "BA-3"),
    )  # fmt: skip


def _hidden(inside: Mapping[str, Given]) -> Iterator[Asked]:
    hidden = ~mask_of(inside)
    if hidden.any():
        one = inside["d_scores"]
        yield judged(
            one, "0 where nothing is seen", np.where(hidden, one.array, 0.0), 0.0,
            means="a hidden key has no weight whatever its score is, so its gradient is exactly 0",
            hints=("BA-8",),
        )  # fmt: skip


def _d_logits(one: Given) -> Asked:
    array, n = one.array, one.array.shape[-1]
    sums = array.sum(axis=-1)
    # A sure row has small entries, of which each is the difference of two larger ones.
    size = np.abs(array).sum(axis=-1).max(initial=0)
    allowed = (n + FEW) * (one.unit * size + one.quantum)
    means, hints = "the loss doesn't change when all logits of a row are shifted", ("BL-1", "BL-4")
    if array.size and (array >= 0).all():
        means, hints = "nothing is below 0: the target was never taken away", ("DUMP-4", "BL-1")
    return judged(one, "rows sum to 0", sums, allowed, means=means, hints=hints)
