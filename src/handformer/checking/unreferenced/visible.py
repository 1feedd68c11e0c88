"""Which keys each query sees, as the zeros of attn tell, and whether that makes sense."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import BoolArray
from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.judged import judged
from handformer.checking.unreferenced.seen import Given, Seen

_FAINT = 1e-3  # a weight as small as that, on most of what lies ahead, is a mask that is too weak
_QUESTION = "the keys that a query sees make sense"


@dataclass(frozen=True)
class Sight:
    """What one attention sees: a kind, how many columns nobody sees, and what is odd about it."""

    kind: str
    hidden: int
    odd: str = ""
    hints: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In a few words."""
        columns = f", {self.hidden} padding column{'s' if self.hidden > 1 else ''} hidden"
        return self.kind + (columns if self.hidden else "")


def mask_of(inside: Mapping[str, Given]) -> BoolArray:
    """What attn sees: the mask, if it is in the dump, or else where a head has any weight."""
    attn = inside["attn"].array
    mask = inside.get("mask")
    if mask is not None and set(np.unique(mask.array)) <= {0, 1}:
        shape = mask.array.shape
        dense = mask.array.astype(bool)
        if len(shape) == attn.ndim - 1 and attn.ndim >= 3:
            dense = dense[..., None, :, :]
        try:
            seen: BoolArray = np.broadcast_to(dense, attn.shape)
            return seen
        except ValueError:
            pass
    return np.broadcast_to(_seen_by_any(attn), attn.shape)


def _seen_by_any(attn: NDArray[Any]) -> BoolArray:
    """Where any head has a weight: one alone may be so small that it is 0."""
    own: BoolArray = np.asarray(attn != 0)
    return np.asarray(own.any(axis=-3, keepdims=True)) if attn.ndim >= 3 else own


def ask(seen: Seen) -> Iterator[Asked]:
    """What each attention sees; and whether all of one kind see alike."""
    kinds: dict[str, dict[str, Given]] = {}
    for path, inside in seen.scopes("attn"):
        attn = inside["attn"]
        if not attn.finite or attn.array.shape[-1] < 2:
            continue
        sight = _sight(attn.array)
        yield Asked(
            attn.path, attn.called, _QUESTION, not sight.odd, said=str(sight), means=sight.odd,
            hints=sight.hints,
        )  # fmt: skip
        kinds.setdefault(re.sub(r"\d+", "*", path), {}).setdefault(sight.kind, attn)
        if "mask" in inside:
            yield from _masked(inside)
    for found in kinds.values():
        if len(found) > 1:
            (first, one), *others = found.items()
            kind, other = others[0]
            yield Asked(
                other.path, other.called, "all blocks see alike", False,
                said=f"here {kind}, at {one.path} {first}",
                means="a mask that doesn't reach every block (if it isn't meant so)",
                hints=("MASK-1",),
            )  # fmt: skip


def _masked(inside: Mapping[str, Given]) -> Iterator[Asked]:
    hidden = ~mask_of(inside)
    for name in ("attn", "attn_kept"):
        one = inside.get(name)
        if one is not None and one.array.shape == hidden.shape and hidden.any():
            yield judged(
                one, "0 where the mask hides", np.where(hidden, one.array, 0.0), 0.0,
                means="hidden keys have weight: the mask isn't applied, or not with -inf",
                hints=("MASK-1", "MASK-11", "MASK-4"),
            )  # fmt: skip


def _sight(attn: NDArray[Any]) -> Sight:
    """Row by row of the batch, which must all be of one kind."""
    *leading, n_queries, n_keys = attn.shape
    heads = attn.reshape(-1, leading[-1] if leading else 1, n_queries, n_keys)
    each = [_row(np.abs(heads[row]).max(axis=0)) for row in range(len(heads))]
    kinds = dict.fromkeys(sight.kind for sight in each)
    odd = next((sight for sight in each if sight.odd), None)
    worst = replace(odd or each[0], hidden=max(sight.hidden for sight in each))
    if odd is None and len(kinds) > 1 and "nothing" not in kinds:
        words = " and ".join(kinds)
        return replace(worst, odd=f"rows of the batch differ: {words}", hints=("MASK-15",))
    return worst


def _row(weights: NDArray[Any]) -> Sight:
    """What the queries of one text see: weights (t, s), the greatest of all heads."""
    n_queries, n_keys = weights.shape
    seen: BoolArray = np.asarray(weights > 0)
    columns = seen.any(axis=0)
    asking = seen.any(axis=1, keepdims=True)
    hidden = int((~columns).sum())
    if not asking.any():
        return Sight("nothing", 0)
    own = np.arange(n_queries)[:, None] + n_keys - n_queries
    ahead = np.arange(n_keys) > own
    real: BoolArray = np.asarray(columns & asking)  # what could be seen
    beyond, upto = seen & ahead & real, ~ahead & real
    if not (ahead & real).any():
        # Of a text whose last key is all that is left, nothing lies ahead.
        return Sight("full", hidden) if n_queries == 1 else Sight("causal", hidden)
    if not beyond.any():
        return _causal(seen, real, own, hidden)
    far = ahead & real
    if beyond.sum() == far.sum() and not (upto & ~seen).any():
        # All is seen: with hardly any weight ahead, somebody meant to hide it.
        faint = weights[far].max() < _FAINT and (far.sum() > 3)
        if faint:
            odd = (
                f"what lies ahead has weights up to {weights[far].max():.1e}, which isn't 0: the "
                "number that hides isn't low enough (take -inf)"
            )
            return Sight("nearly causal", hidden, odd, ("MASK-11",))
        return Sight("full", hidden)
    next_one = np.arange(n_keys) == own + 1
    if not (beyond & ~next_one).any() and far.sum() > (far & next_one).sum():
        odd = "every query sees one key ahead of its own place"
        return Sight("causal and one ahead", hidden, odd, ("MASK-2",))
    before = upto & (np.arange(n_keys) < own)
    if before.any() and not (seen & before).any():
        odd = "the past is hidden and what lies ahead is seen: the triangle lies the wrong way"
        return Sight("ahead only", hidden, odd, ("MASK-3", "MASK-4"))
    return Sight("neither causal nor full", hidden)


def _causal(seen: BoolArray, real: BoolArray, own: NDArray[Any], hidden: int) -> Sight:
    """No query sees ahead: does it see itself, and all before?"""
    places = np.arange(seen.shape[1])
    itself, before = (places == own) & real, (places < own) & real
    if itself.any() and not (seen & itself)[seen.any(axis=1)].any() and (seen & before).any():
        odd = "no query sees itself: the triangle is cut one too low"
        return Sight("causal without the diagonal", hidden, odd, ("MASK-2",))
    missing = before & ~seen
    return Sight("causal, not all of the past" if missing.any() else "causal", hidden)
