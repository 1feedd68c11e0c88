"""Softmaxes: attn from scores, probs from logits; and the scores themselves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.expected import expected
from handformer.checking.unreferenced.judged import judged
from handformer.checking.unreferenced.seen import Given, Seen
from handformer.checking.unreferenced.visible import mask_of
from handformer.layers.single_head import SingleHeadAttention
from handformer.ops import masked_attention, masked_softmax, softmax

_ALONE = SingleHeadAttention.FORMULAS.only("scores").rename(b="")
_HEADS = masked_attention.FORMULAS.only("scores").without("bias")


def ask(seen: Seen) -> Iterator[Asked]:
    """Every softmax whose both sides are there."""
    yield from _attn(seen)
    yield from _scores(seen)
    yield from _probs(seen)


def _attn(seen: Seen) -> Iterator[Asked]:
    """attn is the softmax of scores over what is seen."""
    for _, inside in seen.scopes("attn", "scores"):
        attn, scores = inside["attn"], inside["scores"]
        if attn.array.shape != scores.array.shape or not attn.finite:
            continue
        mask = mask_of(inside) & np.isfinite(scores.array)
        if np.isnan(scores.array).any():
            continue
        given = {
            "x": Given(scores.path, scores.called, np.where(mask, scores.array, 0.0), scores.unit,
                       scores.quantum),
            "mask": Given("", "", mask, 0.0, 0.0), "y": attn,
        }  # fmt: skip
        found = expected(masked_softmax.FORMULAS, "y", given)
        if found is not None:
            yield judged(
                attn, "softmax of scores over the keys that are seen", attn.array - found[0],
                found[1],
                means="the scores give other weights: they were changed in between, or the softmax "
                "isn't one", hints=("SM-1", "SM-2", "SM-6", "MASK-5", "MASK-6", "DUMP-4"),
            )  # fmt: skip


def _scores(seen: Seen) -> Iterator[Asked]:
    """scores are q k / sqrt(d_k) where they are seen; a bias on them would be in the dump."""
    turned = any(path.endswith("_rot") for path in seen)
    known = any("position_embedding" in path for path in seen)  # positions were added: none turn
    for _, inside in seen.scopes("scores"):
        q, k = inside.get("q_rot", inside.get("q")), inside.get("k_rot", inside.get("k"))
        rotary = {"q_rot", "k_rot", "cos", "sin"} & {*inside}
        if q is None or k is None or {"bias", "slope"} & {*inside}:
            continue
        if (rotary or turned) and not {"q_rot", "k_rot"} <= {*inside}:
            continue
        one, attn = inside["scores"], inside.get("attn")
        if not (q.finite and k.finite):
            continue
        given = {"q": q, "k": k, "scores": one}
        found = expected(_HEADS if one.array.ndim > 2 else _ALONE, "scores", given)
        if found is None:
            continue
        right, bound = found
        visible = np.isfinite(one.array) & (one.array > -1e4)
        if attn is not None and attn.array.shape == visible.shape:
            visible = visible & mask_of(inside)
        off = np.where(visible, one.array - right, 0.0)
        ratio = _ratio(one.array[visible], right[visible])
        if not ratio and not known and "q_rot" not in inside:
            continue  # q and k may have been turned in between
        what = "another product, a bias, a cap, or other positions"
        hints: tuple[str, ...] = ("ROPE-10",)
        if ratio:
            what = f"they are {ratio:.4g} of it everywhere: another scale"
            hints = ("SCALE-1", "SCALE-2", "SCALE-3")
        yield judged(one, "scores are q k / sqrt(d_k)", off, bound, means=what, hints=hints)


def _ratio(found: NDArray[Any], right: NDArray[Any]) -> float:
    """The constant that one is of the other; 0 where there is none."""
    large = np.abs(right) > 1e-2 * np.abs(right).max(initial=0)
    if not large.any():
        return 0.0
    each = found[large] / right[large]
    ratio = float(np.median(each))
    return ratio if np.abs(each - ratio).max() < 1e-2 * abs(ratio) else 0.0


def _probs(seen: Seen) -> Iterator[Asked]:
    """probs are the softmax of logits, where both are there."""
    for _, inside in seen.scopes("probs", "logits"):
        given = {"x": inside["logits"], "y": inside["probs"]}
        if given["x"].array.shape != given["y"].array.shape or not given["x"].finite:
            continue
        found = expected(softmax.FORMULAS, "y", given)
        if found is not None:
            yield judged(
                given["y"], "softmax of logits", given["y"].array - found[0], found[1],
                means="the logits give other chances", hints=("LOSS-3", "SM-1"),
            )  # fmt: skip
