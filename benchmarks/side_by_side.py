"""How the scripts beside this one measure: plain and fast in turns, and the median of each.

Processor time of one thread counts: what else the machine does takes little from it. The compiled
ops take their memory from an arena, as in training.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from handformer.axes import Array
from handformer.fast.memory import Arena, reuse

TURNS, LEAST = 7, 0.02  # of each kind; seconds in a turn
ROWS, WIDTH, HIDDEN = 1024, 384, 1536  # of a share of the medium shape: 4 x 256 tokens

rng = np.random.default_rng(0)


def drawn(*shape: int) -> Array:
    """Normal numbers in float32."""
    return rng.standard_normal(shape).astype(np.float32)


def compare(name: str, plain: Callable[..., Any], fast: Callable[..., Any], *given: Any) -> None:
    """Print the time that both take for these arguments, and how many times faster fast is."""
    arena = Arena()

    def plainly() -> None:
        plain(*given)

    def fastly() -> None:
        with reuse(arena):
            fast(*given)

    ways = (plainly, fastly)
    for way in ways:
        way()
    times = [max(1, round(LEAST / max(_seconds(way, 1), 1e-7))) for way in ways]
    turns = [[_seconds(way, n) for way, n in zip(ways, times, strict=True)] for _ in range(TURNS)]
    slow, quick = (statistics.median(kind) for kind in zip(*turns, strict=True))
    print(
        f"{name:<26} plain {slow * 1e3:8.3f} ms   fast {quick * 1e3:8.3f} ms   {slow / quick:5.2f}"
    )


def _seconds(way: Callable[[], None], times: int) -> float:
    start = time.thread_time()
    for _ in range(times):
        way()
    return (time.thread_time() - start) / times
