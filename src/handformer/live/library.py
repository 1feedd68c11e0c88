"""Theirs is a function with a C interface, in a shared library.

    int handformer_forward(
        int n_in,  const void *const *in, const int64_t *const *in_shape,  const int *in_rank,
        int n_out, void *const *out,      const int64_t *const *out_shape, const int *out_rank,
        const double *scalars);

Every output stands between two strips of bytes, and is filled with a number that is none: so it
shows what was written beyond an output, and what wasn't written at all.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.live.asked import Form

AnyArray = NDArray[Any]
STRIP, MARK, UNWRITTEN = 4096, 0xA5, 0xFF

_POINTERS = ctypes.POINTER(ctypes.c_void_p)
_SHAPES = ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))
_RANKS = ctypes.POINTER(ctypes.c_int)
_SIDE = (ctypes.c_int, _POINTERS, _SHAPES, _RANKS)


def find(path: str, symbol: str) -> Callable[..., int]:
    """The function in the library.

    Raises
    ------
    LookupError
        where the file is no library, or has no such function
    """
    try:
        function = getattr(ctypes.CDLL(path), symbol)
    except OSError as error:
        raise LookupError(f"{path} is no library that can be loaded: {error}") from None
    except AttributeError:
        raise LookupError(
            f'{path} has no function {symbol}: export one, unmangled (extern "C", #[no_mangle]), '
            "or name another one after a colon"
        ) from None
    function.argtypes = [*_SIDE, *_SIDE, ctypes.POINTER(ctypes.c_double)]
    function.restype = ctypes.c_int
    return function  # type: ignore[no-any-return]


class Call:
    """One call with memory for its outputs; `run` may be repeated."""

    def __init__(
        self,
        function: Callable[..., int],
        arrays: Sequence[AnyArray | None],
        scalars: Sequence[float],
        forms: Sequence[Form | None],
    ) -> None:
        """Memory is made ready; nothing has run yet."""
        self._function = function
        self._memory = [None if form is None else _strip(form) for form in forms]
        self.outputs = [
            None if form is None or memory is None else _inside(memory, form)
            for form, memory in zip(forms, self._memory, strict=True)
        ]
        numbers = (ctypes.c_double * max(len(scalars), 1))(*scalars)
        self._arguments = (*_side(arrays), *_side(self.outputs), numbers)

    def run(self) -> int:
        """What the function returns."""
        return self._function(*self._arguments)

    def beyond(self) -> list[int]:
        """The outputs beyond whose ends it wrote."""
        return [
            number
            for number, memory in enumerate(self._memory)
            if memory is not None
            and not ((memory[:STRIP] == MARK).all() and (memory[-STRIP:] == MARK).all())
        ]


def _strip(form: Form) -> AnyArray:
    size = int(np.prod(form.shape, dtype=np.int64)) * np.dtype(form.dtype).itemsize
    memory = np.full(size + 2 * STRIP, MARK, dtype=np.uint8)
    memory[STRIP : STRIP + size] = UNWRITTEN
    return memory


def _inside(memory: AnyArray, form: Form) -> AnyArray:
    kept: AnyArray = memory[STRIP : memory.size - STRIP]
    return kept.view(np.uint8 if form.dtype == "bool" else form.dtype).reshape(form.shape)


def _side(arrays: Sequence[AnyArray | None]) -> tuple[Any, ...]:
    """Count, pointers, shapes and ranks of arrays; null and -1 for one that isn't there."""
    count = max(len(arrays), 1)
    pointers = (ctypes.c_void_p * count)(*(None if a is None else a.ctypes.data for a in arrays))
    sizes = (() if a is None else a.shape for a in arrays)
    shapes = (ctypes.POINTER(ctypes.c_int64) * count)(
        *((ctypes.c_int64 * max(len(size), 1))(*size) for size in sizes)  # type: ignore[misc]
    )
    ranks = (ctypes.c_int * count)(*(-1 if a is None else a.ndim for a in arrays))
    return len(arrays), ctypes.cast(pointers, _POINTERS), shapes, ranks
