"""Of every array: finite numbers, gradients of their value's shape, gradients that aren't there."""

from collections.abc import Iterator

import numpy as np

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.judged import judged
from handformer.checking.unreferenced.seen import Given, Seen
from handformer.formula.names import is_gradient, is_width

# What a mask may have made -inf.
_MASKED = ("scores", "mask", "logits")
# With one key there is nothing to choose: the softmax has no slope.
_OF_CHOICE = ("d_scores", "d_q", "d_k", "d_q_rot", "d_k_rot", "d_w_q", "d_w_k", "d_b_q", "d_b_k",
              "d_x_q", "d_x_k")  # fmt: skip


# A bias of the keys moves all scores of a row alike; the last block hands on nothing.
_OFTEN_ZERO = ("d_b_k", "d_memory_later", "d_table_elsewhere")


def ask(seen: Seen) -> Iterator[Asked]:
    """The questions of every array."""
    for path, one in seen.own.items():
        yield _finite(one)
        value = _value(path)
        if value is not None and value in seen.own:
            yield _shape(one, seen.own[value])
        if value is not None and one.array.size > 1:
            yield from _there(one, seen)


def _value(path: str) -> str | None:
    """The path of what a gradient belongs to; None for what is none."""
    before, dot, last = path.rpartition(".")
    if not is_gradient(last) or is_width(last):
        return None if last != "d_k" else f"{before}{dot}k"
    return f"{before}{dot}{last[2:]}"


def _finite(one: Given) -> Asked:
    last = one.path.rpartition(".")[2]
    odd = ~np.isfinite(one.array)
    if last in _MASKED:
        odd = odd & ~np.isneginf(one.array)
    kind = "NaN" if np.isnan(one.array).any() else "infinity"
    hints = ("MASK-9", "SM-3") if last in ("attn", "probs") or kind == "NaN" else ()
    return judged(
        one, "every number is finite", np.where(odd, np.inf, 0.0), 0.0,
        means=f"it holds {kind}: an exp that overflowed, 0 / 0 in a row that sees no key, or "
        "memory that wasn't written; all that comes after has it too", hints=hints,
    )  # fmt: skip


def _shape(one: Given, value: Given) -> Asked:
    same = one.array.shape == value.array.shape
    return Asked(
        one.path, one.called, "a gradient has the shape of its value", same,
        said="" if same else f"{one.array.shape}, expected {value.array.shape}",
        means="" if same else "a gradient has an entry for each entry of its value: an axis wasn't "
        "summed over, was summed over too much, or lies elsewhere",
        hints=() if same else ("BW-2", "BW-3", "BW-4", "BA-9"),
    )  # fmt: skip


def _there(one: Given, seen: Seen) -> Iterator[Asked]:
    found = bool(np.any(one.array))
    before, _, last = one.path.rpartition(".")
    attn = seen.get(f"{before}.attn" if before else "attn")
    if last in _OFTEN_ZERO:
        return
    alone = attn is not None and attn.array.shape[-1:] == (1,) and last in _OF_CHOICE
    fine = found or alone
    yield Asked(
        one.path, one.called, "not all of it is 0", fine,
        means="" if fine else "this gradient was never written, or something before it isn't "
        "connected",
        hints=() if fine else ("BW-6", "BN-10"),
    )  # fmt: skip
