"""Where the compiled ops put their results: fresh memory, or that of the step before.

A page of memory that a process has never touched costs the operating system about as much time as
a thousand multiplications. A training step asks for the same shapes in the same order every time,
so inside `reuse` each request gets the buffer that the same request got in the last round.

    arena = Arena()
    for batch in batches:
        with reuse(arena):
            ...                     # the results stay valid until the next round begins
"""

import math
import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_LARGE = 1 << 22  # bytes
_ALIGNMENT = 64  # bytes: a cache line, and the widest vector register


class Arena:
    """Arrays in the order in which they are asked for, round after round."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._buffers: list[NDArray[np.uint8]] = []
        self._arrays: list[NDArray[Any]] = []  # what was last made of each buffer
        self._next = 0

    @property
    def nbytes(self) -> int:
        """The memory that it holds."""
        return sum(buffer.nbytes for buffer in self._buffers)

    def begin(self) -> None:
        """Begin a round: what was given out before may be overwritten from now on."""
        self._next = 0

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The next array of the round; mostly it is the very one of the round before."""
        at = self._next
        self._next += 1
        if at < len(self._arrays):
            array = self._arrays[at]
            if array.shape == shape and array.dtype == dtype:
                return array
        nbytes = math.prod(shape) * dtype.itemsize
        if at == len(self._buffers):
            self._buffers.append(_aligned(nbytes))
            self._arrays.append(self._buffers[at])
        elif self._buffers[at].nbytes < nbytes:
            self._buffers[at] = _aligned(nbytes)
        self._arrays[at] = self._buffers[at][:nbytes].view(dtype).reshape(shape)
        return self._arrays[at]


_here = threading.local()


@contextmanager
def reuse(arena: Arena) -> Iterator[None]:
    """Let `empty` in this thread take its memory from the arena, from its beginning."""
    before = getattr(_here, "arena", None)
    arena.begin()
    _here.arena = arena
    try:
        yield
    finally:
        _here.arena = before


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array whose entries are to be written: from this thread's arena, if it has one."""
    arena: Arena | None = getattr(_here, "arena", None)
    return np.empty(shape, dtype) if arena is None else arena.take(shape, np.dtype(dtype))


def zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array of zeros of which only the pages that are written to take memory."""
    dtype = np.dtype(dtype)
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes < _LARGE:
        array = empty(shape, dtype)
        array.fill(0)
        return array
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(shape, dtype)
    # np.zeros asks for huge pages on Linux: one entry would take two megabytes.
    pages = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype).reshape(shape)


def _aligned(nbytes: int) -> NDArray[np.uint8]:
    room = np.empty(nbytes + _ALIGNMENT, np.uint8)
    skip = -room.ctypes.data % _ALIGNMENT
    return room[skip : skip + nbytes]
