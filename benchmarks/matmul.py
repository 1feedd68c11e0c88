"""Products of matrices in a small Transformer: the engine's kernel beside NumPy's library.

    python benchmarks/matmul.py [float64]

One thread. The two take turns, and each figure is the median of its turns. Processor time counts:
what else the machine does takes little from it.
"""

import os

os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from handformer.axes import Array
from handformer.fast.matmul import matmul
from handformer.fast.microkernel import ROWS, WIDTH

TURNS, WORK = 5, 5e7  # of each kind; multiplications and additions in a turn, or one product
LAYERS = [  # rows, in, out
    (384, 128, 128), (384, 128, 256), (384, 128, 384), (384, 128, 512), (384, 512, 128),
    (1024, 384, 384), (1024, 384, 1536), (1024, 1536, 384),
    (512, 768, 768), (512, 768, 3072), (512, 3072, 768),
]  # fmt: skip
FEW = [(12, 512, 512), (16, 512, 512), (32, 512, 512), (64, 64, 64), (16, 16, 16)]


def products(dtype: type) -> Iterator[tuple[str, Array, Array, Array]]:
    """What is multiplied, a, b, and out."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(dtype)

    for rows, size_in, size_out in LAYERS:
        x, w, d_y = drawn(rows, size_in), drawn(size_in, size_out), drawn(rows, size_out)
        yield "x @ w", x, w, np.empty_like(d_y)
        yield "d_y @ w.T", d_y, w.T, np.empty_like(x)
        yield "x.T @ d_y", x.T, d_y, np.empty_like(w)
    q, k, v = drawn(2, 256, 3, 6, 64).transpose(2, 0, 3, 1, 4)
    attn, context = drawn(2, 6, 256, 256), drawn(2, 256, 6, 64).swapaxes(1, 2)
    yield "q @ k.T", q, k.swapaxes(-1, -2), attn.copy()
    yield "attn @ v", attn, v, context.copy()
    yield "attn.T @ d_context", attn.swapaxes(-1, -2), context, np.empty_like(context)
    for m, k_size, n in FEW:
        yield "few", drawn(m, k_size), drawn(k_size, n), np.empty((m, n), dtype)


def seconds(product: Callable[[], object], times: int) -> float:
    """The time that one product takes, in a row of them."""
    start = time.thread_time()
    for _ in range(times):
        product()
    return (time.thread_time() - start) / times


def main() -> None:
    """Print the table."""
    dtype = np.float64 if "float64" in sys.argv[1:] else np.float32
    block = f"{ROWS} x {WIDTH // np.dtype(dtype).itemsize}"
    print(f"{platform.processor() or platform.machine()}, NumPy {np.__version__}, one thread,")
    print(f"{dtype.__name__}, blocks of {block}; GFLOP/s\n")
    print(f"{'':<20}{'(m, k, n)':<20}{'NumPy':>8}{'ours':>8}{'ratio':>8}")
    for name, a, b, out in products(dtype):
        operations = 2 * out.size * a.shape[-1]
        ways = [
            lambda a=a, b=b, out=out: np.matmul(a, b, out=out),
            lambda a=a, b=b, out=out: matmul(a, b, out),
        ]
        times = max(1, round(WORK / operations))
        for way in ways:
            way()
        turns = [[seconds(way, times) for way in ways] for _ in range(TURNS)]
        numpys, ours = (
            operations / statistics.median(kind) / 1e9 for kind in zip(*turns, strict=True)
        )
        shape = str((*a.shape[-2:], b.shape[-1]))
        print(f"{name:<20}{shape:<20}{numpys:>8.1f}{ours:>8.1f}{ours / numpys:>8.2f}")


if __name__ == "__main__":
    main()
