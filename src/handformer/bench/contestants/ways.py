"""The two ways in which our own contestants work: the book's engine, and the compiled one."""

from collections.abc import Callable

import numpy as np

from handformer import fast
from handformer.axes import Array
from handformer.train.engine import Engine

FAST, PLAIN = "fast", "plain"
NUMPY, OWN = "numpy", "own"
PRODUCTS = (NUMPY, OWN) if fast.AVAILABLE else (NUMPY,)

Product = Callable[[Array, Array, Array], object]


def engine(name: str, threads: int) -> Engine:
    """The engine called "plain" or "fast", at work on a share of the batch in each thread.

    Raises
    ------
    ModuleNotFoundError
        for the fast one where there is no Numba
    """
    if name == PLAIN:
        return Engine(threads, threads).__enter__()
    require_fast()
    from handformer.train.fast_engine import FastEngine  # noqa: PLC0415  # it needs Numba

    return FastEngine(threads, threads).__enter__()


def require_fast() -> None:
    """Don't take the plain ops for the compiled ones.

    Raises
    ------
    ModuleNotFoundError
        where there is no Numba
    """
    if not fast.AVAILABLE:
        raise ModuleNotFoundError("the ops aren't compiled without Numba", name="numba")


def product(name: str) -> Product:
    """a @ b, written to a third array: NumPy's, or the compiled engine's own.

    Raises
    ------
    ModuleNotFoundError
        for the latter where there is no Numba
    """
    if name == NUMPY:
        return lambda a, b, out: np.matmul(a, b, out=out)
    require_fast()
    from handformer.fast.matmul import matmul  # noqa: PLC0415  # it needs Numba

    return matmul
