"""The machine's limit: matrix products and reads of memory, on all cores at once.

Products    float32, on each core one thread with arrays of its own, all at the same time: NumPy's
            with a BLAS of one thread, and the engine's own. Of the sizes below the fastest counts,
            and of the two ways the faster.
Memory      float32 scalar products of vectors that no cache holds, in the same way.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from handformer.axes import Array
from handformer.bench.contestants import ways

SIZES = ((1024, 384, 1536), (1024, 1536, 384), (512, 768, 3072))
_LONG = 2**24  # entries of a vector: 64 MiB
_SECONDS = 0.05  # of each size

Work = Callable[[], object]


def begin(settings: dict[str, Any]) -> tuple[Callable[[], dict[str, Any]], dict[str, Any]]:
    """A measurement: operations_per_second, those of NumPy alone, and bytes_per_second."""
    threads = settings["threads"]
    threadpool_limits(1)
    pool = ThreadPoolExecutor(threads)
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Array:
        return rng.standard_normal(shape, np.float32)

    factors = [
        [(drawn(rows, inner), drawn(inner, columns)) for _ in range(threads)]
        for rows, inner, columns in SIZES
    ]
    vectors = [(np.ones(_LONG, np.float32), np.ones(_LONG, np.float32)) for _ in range(threads)]
    ways_to_multiply = {name: ways.product(name) for name in ways.PRODUCTS}

    def fastest(multiply: ways.Product) -> float:
        speeds: list[float] = []
        for pairs, (rows, inner, columns) in zip(factors, SIZES, strict=True):
            works = [_product(multiply, a, b) for a, b in pairs]
            speeds.append(2 * rows * inner * columns * threads / _seconds(pool, works))
        return max(speeds)

    def measure() -> dict[str, Any]:
        speeds = {name: fastest(multiply) for name, multiply in ways_to_multiply.items()}
        reading = _seconds(pool, [_read(x, y) for x, y in vectors])
        return {
            "operations_per_second": max(speeds.values()),
            "numpy_operations_per_second": speeds[ways.NUMPY],
            "bytes_per_second": 2 * 4 * _LONG * threads / reading,
        }

    return measure, {"version": np.__version__, "blas": _blas()}


def _seconds(pool: ThreadPoolExecutor, works: list[Work]) -> float:
    """The time of one piece of work on every core at once."""

    def repeated(work: Work, times: int) -> None:
        for _ in range(times):
            work()

    works[0]()
    began = time.perf_counter()
    works[0]()
    times = max(1, round(_SECONDS / (time.perf_counter() - began)))
    began = time.perf_counter()
    list(pool.map(repeated, works, [times] * len(works)))
    return (time.perf_counter() - began) / times


def _product(multiply: ways.Product, a: Array, b: Array) -> Work:
    out = np.empty((a.shape[0], b.shape[1]), np.float32)
    return lambda: multiply(a, b, out)


def _read(x: Array, y: Array) -> Work:
    return lambda: np.dot(x, y)


def _blas() -> str:
    found = (lib for lib in threadpool_info() if lib["user_api"] == "blas")
    return ", ".join(f"{lib['internal_api']} {lib['version']}" for lib in found)
