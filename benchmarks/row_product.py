"""One row times a large matrix: NumPy beside the engine, in gigabytes of weights a second.

    python benchmarks/row_product.py

Each weight is used once, so the limit is how fast memory is read: the first lines say how fast it
is here. A set of matrices that no cache holds is gone through again and again; NumPy, one thread
and the crew take turns, and each figure is that of the fastest product in twenty. NumPy has no
product for weights of 16 bits: it widens them first.
"""

import os
import platform
import threading
import time
from collections.abc import Callable

import ml_dtypes
import numpy as np
from numba import njit
from numpy.typing import NDArray

from handformer.axes import Array
from handformer.fast import crew, row_product
from handformer.ops import linear

SIZES = [(576, 576), (576, 1536), (1536, 576), (576, 49152)]
KINDS = (np.float32, ml_dtypes.bfloat16, np.float16)
BYTES, TURNS, SHARE = 1e8, 3, 0.05

Product = Callable[[Array, NDArray[np.generic]], object]


@njit(nogil=True, fastmath={"reassoc"})
def total(x: Array) -> float:
    """A sum, which is as fast as memory is read."""
    found = np.float32(0)
    for at in range(x.size):
        found += x[at]
    return found


def reading(threads: int) -> float:
    """Gigabytes a second, the best of several goes."""
    whole = np.ones(int(BYTES) * 2 // 4, np.float32)
    parts, best = np.array_split(whole, threads), np.inf
    total(whole[:8])
    for _ in range(8):
        workers = [threading.Thread(target=total, args=(part,)) for part in parts[1:]]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        total(parts[0])
        for worker in workers:
            worker.join()
        best = min(best, time.perf_counter() - start)
    return whole.nbytes / best / 1e9


def product_by(some: crew.Crew) -> Product:
    """A product by a crew of that size."""

    def product(x: Array, w: NDArray[np.generic]) -> object:
        crew.shared = lambda: some  # type: ignore[assignment]
        return row_product.forward(x, w, None)

    return product


def main() -> None:
    """Print the table."""
    cores = os.cpu_count() or 1
    print(f"{platform.machine()}, {cores} cores, NumPy {np.__version__}")
    for threads in (1, min(cores, crew.MOST)):
        print(f"memory is read at {reading(threads):5.1f} GB/s by {threads} threads")
    ways: dict[str, Product] = {
        "NumPy": lambda x, w: linear.forward(x, w, None),
        "one thread": product_by(crew.Crew(0)),
        "crew": product_by(crew.Crew(min(cores, crew.MOST) - 1)),
    }
    print(f"{'in':>6}{'out':>7}  {'weights':<9}" + "".join(f"{name:>12}" for name in ways))
    rng = np.random.default_rng(0)
    for width, outs in SIZES:
        x = rng.standard_normal((1, width), dtype=np.float32)
        for kind in KINDS:
            one = rng.standard_normal((outs, width), dtype=np.float32).astype(kind)
            several = [one.copy().T for _ in range(max(2, int(BYTES / one.nbytes)))]
            times: dict[str, list[float]] = {name: [] for name in ways}
            for name, way in list(ways.items()) * TURNS:
                for w in several[: 4 if name == "NumPy" else None]:
                    start = time.perf_counter()
                    way(x, w)
                    times[name].append(time.perf_counter() - start)
            speeds = [one.nbytes / np.quantile(times[name], SHARE) / 1e9 for name in ways]
            row = "".join(f"{speed:12.1f}" for speed in speeds)
            print(f"{width:>6}{outs:>7}  {np.dtype(kind).name:<9}{row}", flush=True)


if __name__ == "__main__":
    main()
