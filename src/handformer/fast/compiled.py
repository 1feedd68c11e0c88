"""How kernels are compiled, and how arrays reach them.

Settings    no GIL, so that threads run side by side; the machine code is kept on disk; a division
            by zero gives inf, as NumPy's does (raising would keep a loop from being vectorised).
            Sums may be reordered and products fused into them. Nothing may assume that NaN or
            infinity don't occur (LLVM's nnan, ninf): -inf is what hides a key. Divisions stay
            divisions (no arcp): an estimated reciprocal of inf is NaN.
Arrays      a kernel knows rows: (n, width), contiguous, of float32 or float64. `rows` brings any
            other layout into that form, by a copy where there is no other way.
"""

import hashlib
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array
from handformer.fast.memory import empty

Function = TypeVar("Function", bound=Callable[..., Any])

SETTINGS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}
config: Any = numba.config  # its settings are made when it is loaded
_OLD = 86400.0  # seconds
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def compiled(function: Function, signatures: Sequence[Any] = ()) -> Function:
    """The function as machine code, made now for these kinds of arguments, or at its first call for
    each kind.
    """
    kernel: Any = with_cache(lambda kept: numba.njit(**{**SETTINGS, "cache": kept})(function))
    _forgive(kernel._cache)
    for signature in signatures:
        kernel.compile(signature)
    if signatures:
        kernel.disable_compile()
    return kernel  # type: ignore[no-any-return]


def with_cache(make: Callable[[bool], Any]) -> Any:
    """make(True) with our folder for machine code, or make(False) where there can be none."""
    before, config.CACHE_DIR = config.CACHE_DIR, _folder()
    try:
        return make(True)
    except Exception:  # what is kept is damaged, or no folder can be written to
        return make(False)
    finally:
        config.CACHE_DIR = before


def _forgive(cache: Any) -> None:
    """What is kept only saves time: where it can't be read or written, it is done without."""
    load, save = cache.load_overload, cache.save_overload

    def loaded(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:
            with suppress(OSError):
                cache.flush()
            return None

    def saved(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    cache.load_overload, cache.save_overload = loaded, saved


def fresh(module: str = "matmul") -> bool:
    """Whether no machine code of this module is kept yet: its first calls will take seconds."""
    folder = _folder()  # none is known where Numba chooses one of its own
    return bool(folder) and not any(Path(folder).rglob(f"{module}.*.nbi"))


@cache
def _folder() -> str:
    """Where the machine code of these sources is kept.

    Numba looks at a kernel's own file to see whether its code is still good, not at the files of
    the parts that it is made of; so every version of the sources has its folder.
    """
    if config.CACHE_DIR or not os.access(here := Path(__file__).parent, os.W_OK):
        return str(config.CACHE_DIR)  # what the user set, or Numba's own choice
    digest = hashlib.blake2b(digest_size=8)
    for source in sorted(here.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    folder = here / "__pycache__" / f"kernels-{digest.hexdigest()}"
    for other in {*folder.parent.glob("kernels-*")} - {folder}:
        if time.time() - other.stat().st_mtime > _OLD:  # a running process may need a newer one
            shutil.rmtree(other, ignore_errors=True)
    return str(folder)


def part(function: Function) -> Function:
    """The same for a small part of other kernels, which is copied into each of them."""
    return numba.njit(**{**SETTINGS, "cache": False}, forceinline=True)(function)  # type: ignore[no-any-return]


def known(*arrays: NDArray[Any] | None) -> bool:
    """Whether kernels take these arrays: all of one dtype, float32 or float64 (None: not there)."""
    first = None
    for array in arrays:
        if array is None:
            continue
        if first is None:
            first = array.dtype
        elif array.dtype != first:
            return False
    return first in FLOATS


def alike(*arrays: NDArray[Any]) -> bool:
    """Whether kernels take these arrays, and all have one shape."""
    return known(*arrays) and all(array.shape == arrays[0].shape for array in arrays)


def rows(array: Array) -> Array:
    """An array (..., width) as (n, width), contiguous: a view where its memory allows."""
    flat = array
    if array.ndim != 2:
        flat = array.reshape(math.prod(array.shape[:-1]), array.shape[-1])
    return flat if flat.flags.c_contiguous else np.ascontiguousarray(flat)


def flat(array: Array) -> Array:
    """All entries in a row: a view where the memory allows."""
    return np.ascontiguousarray(array).reshape(-1)


def empty_by_place(x: Array) -> Array:
    """An empty array of the shape of x (..., h, t, c) that lies in memory as (..., t, h, c)."""
    *leading, n_heads, n, size = x.shape
    return empty((*leading, n, n_heads, size), x.dtype).swapaxes(-2, -3)


def empty_like(array: Array) -> Array:
    """A contiguous array of that shape and dtype, to be written."""
    return empty(array.shape, array.dtype)
