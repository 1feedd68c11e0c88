"""Attention that no model here has, as a layer alone: ALiBi, a window, fewer queries than keys.

They are the cases `alibi-attention`, `window-attention` and `chunk-attention`, each with its values
in both directions.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.checking.theirs import attention, attention_back
from tests.checking.theirs.case import Case
from tests.checking.theirs.program import At, Program
from tests.checking.theirs.row import Row

ALIBI, WINDOW, CHUNK = "alibi-attention", "window-attention", "chunk-attention"
ROWS = {
    "ALIBI-1": Row((ALIBI,), "slope"),
    "ALIBI-2": Row((ALIBI,), "slope"),
    "ALIBI-3": Row((ALIBI,), "bias"),
    "MASK-12": Row((CHUNK,), "causal.mask"),
    "MASK-13:one more": Row((WINDOW,), "window.mask"),
    "MASK-13:one less": Row((WINDOW,), "window.mask"),
}
# By name, the values that are others: ALiBi by the key's place alone adds the same to a whole row.
SAME = {"ALIBI:by the key alone": ("bias", "scores")}


def run(case: Case, wrong: Iterable[str] = (), *, dtype: Any = np.float32) -> dict[str, Any]:
    """Every value of such a case by path, forward and backward."""
    program = Program(case, wrong, None, dtype)
    at = At(program)
    x = at["x"]
    memory = at["memory"] if at.has("memory") else None
    queries, keys = x.shape[1], (x if memory is None else memory).shape[1]
    seen = _mask(at, queries, keys)
    bias = _bias(at, queries, keys) if at.has("causal.valid") else 0
    mask = np.broadcast_to(seen, (len(x), queries, keys))
    attention.forward(at, x, mask, memory=memory, bias=bias)
    attention_back.backward(at, at["d_out"])
    assert program.wrong <= program.asked
    return program.values


def _bias(at: At, queries: int, keys: int) -> Any:
    """bias (h, t, s): the farther a key is behind, the less it counts."""
    slope = at.put("slope", np.array(_slopes(at, at.case.heads)))
    far = np.arange(queries)[:, None] + keys - queries - np.arange(keys)
    if at.wrong("ALIBI:by the key alone"):
        far = np.broadcast_to(-np.arange(keys), far.shape)
    sign = 1 if at.wrong("ALIBI-3") else -1
    return at.put("bias", sign * slope[:, None, None] * far)


def _slopes(at: At, heads: int) -> list[float]:
    first = 0 if at.wrong("ALIBI-2") else 1

    def series(count: int) -> list[float]:
        return [2.0 ** (-8 * (n + first) / count) for n in range(count)]

    power = 2 ** int(np.log2(heads))
    if at.wrong("ALIBI-1") or power == heads:
        return series(heads)
    return series(power) + series(2 * power)[::2][: heads - power]


def _mask(at: At, queries: int, keys: int) -> Any:
    """(t, s) or (b, t, s): the last query stands beside the last key."""
    here = np.arange(queries)[:, None]
    if not at.wrong("MASK-12"):
        here = here + keys - queries
    seen = np.arange(keys) <= here
    if "window" in at.case.numbers:
        width = int(at.case.numbers["window"]["width"])
        width += at.wrong("MASK-13:one more") - at.wrong("MASK-13:one less")
        return at.put("window.mask", seen & (np.arange(keys) > here - width))
    if at.has("causal.valid"):
        seen = seen & at["causal.valid"][:, None, :]
    return at.put("causal.mask", seen)
