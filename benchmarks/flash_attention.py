"""Attention that doesn't write its scores beside the full form, forward and backward, compiled.

    python benchmarks/flash_attention.py

One thread, float32, heads of width 64. The two take turns in memory that each has used before, as
in training, and each time is the median of its turns. Processor time counts: what else the machine
does takes little from it. The memory is what they asked for in both directions, for one head: the
full form's holds several numbers for each query and key, the other's as many for each query.
"""

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import platform
import statistics
import time
from collections.abc import Callable

import numpy as np

from handformer import fast
from handformer.axes import Array, BoolArray
from handformer.fast import flash_attention
from handformer.fast.memory import Arena, reuse
from handformer.ops.masks import causal

CONTEXTS = (256, 512, 1024, 2048, 4096)
WORK = 4096  # queries of all heads together
TURNS, D_K = 5, 64
EVERYTHING = np.array(True)

Given = tuple[Array, Array, Array, Array]
Way = Callable[[Array, Array, Array, Array, BoolArray], object]


def full(q: Array, k: Array, v: Array, d_context: Array, mask: BoolArray) -> object:
    """Both directions of the form that keeps every value."""
    out = fast.masked_attention.forward(q, k, v, mask, None, EVERYTHING, 0.0)
    attn, kept = out.attn, out.attn_kept
    return fast.masked_attention.backward(d_context, q, k, v, attn, kept, EVERYTHING, 0.0)


def flash(q: Array, k: Array, v: Array, d_context: Array, mask: BoolArray) -> object:
    """Both directions of the form in blocks."""
    log_total, context = flash_attention.forward(q, k, v, mask)
    return flash_attention.backward(d_context, q, k, v, mask, log_total, context)


def drawn(context: int) -> Given:
    """q, k, v and d_context, as projections leave them in memory."""
    shape = (4, 1, context, WORK // context, D_K)
    q, k, v, d_context = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return q.swapaxes(1, 2), k.swapaxes(1, 2), v.swapaxes(1, 2), d_context.swapaxes(1, 2)


def seconds(way: Way, arena: Arena, given: Given, mask: BoolArray) -> float:
    """The time of one turn."""
    with reuse(arena):
        start = time.thread_time()
        way(*given, mask)
        return time.thread_time() - start


def main() -> None:
    """Print the table."""
    print(f"{platform.processor() or platform.machine()}, NumPy {np.__version__}, one thread\n")
    print(f"{'mask':<8}{'context':>8}{'heads':>7}{'full':>11}{'flash':>11}{'ratio':>8}", end="")
    print(f"{'full':>11}{'flash':>11}")
    for label in ("causal", "none"):
        for context in CONTEXTS:
            given, arenas = drawn(context), (Arena(), Arena())
            mask = causal.forward(context, context) if label == "causal" else EVERYTHING
            ways = list(zip((full, flash), arenas, strict=True))
            turns = [
                [seconds(way, arena, given, mask) for way, arena in ways] for _ in range(TURNS + 1)
            ]
            theirs, ours = (statistics.median(times[1:]) for times in zip(*turns, strict=True))
            heads = WORK // context
            print(f"{label:<8}{context:>8}{heads:>7}", end="")
            print(f"{theirs * 1e3:>8.0f} ms{ours * 1e3:>8.0f} ms{theirs / ours:>8.2f}", end="")
            print(
                "".join(f"{arena.nbytes / heads / 2**20:>8.1f} MB" for arena in arenas), flush=True
            )


if __name__ == "__main__":
    main()
