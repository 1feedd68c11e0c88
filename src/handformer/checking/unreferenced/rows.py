"""Rows that sum to 1, and rows of gradients that sum to 0."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.judged import judged
from handformer.checking.unreferenced.seen import Given, Seen
from handformer.checking.unreferenced.visible import mask_of

_FEW = 8  # roundings of a quotient, an exponential, and what is of second order
_BLIND = 16  # more, where what a difference was taken of isn't in the dump


def ask(seen: Seen) -> Iterator[Asked]:
    """The rows of attn and probs, of d_scores and d_logits."""
    for _, inside in seen.scopes("attn"):
        attn = inside["attn"]
        if attn.array.ndim >= 2 and attn.array.dtype.kind == "f":
            yield _positive(attn)
            yield _to_one(attn, empty=True)
    for _, inside in seen.scopes("probs"):
        if inside["probs"].array.dtype.kind == "f" and not _only_some(inside):
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
    allowed = (n + _FEW) * one.unit * np.maximum(np.abs(array).sum(axis=-1), 1) + n * one.quantum
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
    # A row that sees one key alone has nothing but rounding in it: the largest row tells the size.
    size = np.broadcast_to(_BLIND * np.abs(array).sum(axis=-1).max(initial=0), array.shape[:-1])
    kept = inside.get("keep")
    known = attn is not None and d_attn is not None and (kept is None or bool(kept.array.all()))
    hints: tuple[str, ...] = ("BA-1", "BA-2", "BA-3")
    means = "a softmax doesn't change when its row is shifted: its backward has the wrong row term"
    if known and attn is not None and d_attn is not None and d_attn.array.shape == array.shape:
        p, d_p = attn.array, d_attn.array
        size = 2 * np.abs(p * d_p).sum(axis=-1) + np.abs(array).sum(axis=-1)
        for name, said, wrong in (
            ("BA-1", "it is attn (1 - attn) d_attn: the diagonal alone", p * (1 - p) * d_p),
            ("BA-2", "it is attn d_attn: the row's own term is missing", p * d_p),
            ("BA-3", "it is d_attn itself: the softmax was passed by", d_p),
        ):
            if _close(array, wrong):
                means, hints = said, (name,)
    allowed = (n + _FEW) * (one.unit * size + one.quantum)
    if attn is not None and attn.unit > one.unit:
        allowed = allowed + (n + _FEW) * attn.unit * size
    return judged(one, "rows sum to 0", array.sum(axis=-1), allowed, means=means, hints=hints)


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
    allowed = (n + _FEW) * (one.unit * size + one.quantum)
    means, hints = "the loss doesn't change when all logits of a row are shifted", ("BL-1", "BL-4")
    if array.size and (array >= 0).all():
        means, hints = "nothing is below 0: the target was never taken away", ("DUMP-4", "BL-1")
    return judged(one, "rows sum to 0", sums, allowed, means=means, hints=hints)


def _close(found: NDArray[Any], other: NDArray[Any]) -> bool:
    scale = np.abs(other).max(initial=0)
    return bool(np.abs(found - other).max(initial=0) <= 1e-3 * scale)
