"""The matrix products of a training step, back to back, with nothing between them.

Each worker has its share of the batch and a BLAS of one thread, as in a training step. The factors
hold random numbers; large ones are cut from the same memory.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from handformer.axes import Array
from handformer.bench.arithmetic import Product, products
from handformer.bench.contestants import ways
from handformer.models.config import ModelConfig

Worker = Callable[[], None]


def begin(settings: dict[str, Any]) -> tuple[Callable[[], dict[str, Any]], dict[str, Any]]:
    """All products of one step."""
    threadpool_limits(1)
    config, batch = ModelConfig.read(settings["config"]), settings["batch"]
    threads = min(settings["threads"], batch)
    shares = [len(part) for part in np.array_split(np.arange(batch), threads)]
    multiply = ways.product(settings["by"])
    workers = [_worker(multiply, products(config, share)) for share in shares]
    pool = ThreadPoolExecutor(threads)

    def work() -> dict[str, Any]:
        list(pool.map(lambda worker: worker(), workers))
        return {}

    return work, {}


def _worker(multiply: ways.Product, asked: list[Product]) -> Worker:
    rng = np.random.default_rng(0)
    left = rng.standard_normal(max(p.rows * p.inner for p in asked), np.float32)
    right = rng.standard_normal(max(p.inner * p.columns for p in asked), np.float32)
    room = np.empty(max(p.rows * p.columns for p in asked), np.float32)

    def matrix(memory: Array, rows: int, columns: int) -> Array:
        return memory[: rows * columns].reshape(rows, columns)

    def work() -> None:
        for p in asked:
            a, b = matrix(left, p.rows, p.inner), matrix(right, p.inner, p.columns)
            out = matrix(room, p.rows, p.columns)
            for _ in range(p.times):
                multiply(a, b, out)

    return work
