"""A rotation keeps the length of each row, and of each pair."""

from collections.abc import Iterator

import numpy as np

from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.judged import FEW, judged
from handformer.checking.unreferenced.seen import Given, Seen


def ask(seen: Seen) -> Iterator[Asked]:
    """q, k and their gradients, before and after."""
    for name in ("q", "k", "d_q", "d_k"):
        for _, inside in seen.scopes(name, f"{name}_rot"):
            plain, after = inside[name], inside[f"{name}_rot"]
            if plain.array.shape == after.array.shape:
                yield _length(name, plain, after)


def _length(name: str, plain: Given, after: Given) -> Asked:
    before, now = (np.sqrt((one.array**2).sum(axis=-1)) for one in (plain, after))
    unit, quantum = max(plain.unit, after.unit), plain.quantum + after.quantum
    allowed = FEW * (unit * before + np.sqrt(plain.array.shape[-1]) * quantum)
    return judged(
        after, f"each row is as long as that of {name}", now - before, allowed,
        means="a rotation changes no length: angles and pairs follow two conventions, or something "
        "was scaled on the way", hints=("ROPE-2", "ROPE-8"),
    )  # fmt: skip
