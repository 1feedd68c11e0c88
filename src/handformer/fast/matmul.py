"""The one place where matrices are multiplied: a blocked product, compiled.

Why         NumPy's library takes, on some CPUs and for some small shapes, two or three times as
            long as for others. This one takes the time that the arithmetic takes, for every shape.
Blocks      b is copied, a block of K_MOST rows and N_BYTES at a time, so that it stays in the
            second-level cache, as panels: columns as wide as the micro-kernel's block of the
            product, row after row. A block of rows of a stays in the first-level cache while the
            panels stream past. It is copied only if it lies in columns: rows can be read in place.
Edges       a panel that ends beyond b repeats its last column; a block that ends beyond the product
            goes to a buffer first. No entry beyond the arrays is read or written.
Delicate    each entry is a sum over k in equal parts, none longer than K_MOST, one after the other:
            the error grows with a part's length and their number, not with k. A row of the
            product has the same bits whichever rows or matrices stand beside it, however the
            arrays are laid out, as long as there are enough rows for this kernel.
Source      Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication",
            sections 4 and 5; Van Zee and van de Geijn 2015, "BLIS".
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from handformer.axes import Array
from handformer.fast.compiled import FLOATS, compiled, part
from handformer.fast.microkernel import (
    ROWS,
    SUITED,
    WIDTH,
    copy_column,
    copy_number,
    copy_row,
    tile,
    transpose,
)

K_MOST, N_BYTES = 256, 1536  # rows of a block of b, and bytes of a row, a multiple of WIDTH
_M_MOST = 4 * ROWS  # of a, where it is copied: fewer rows would read its cache lines more often
_M_LEAST, _N_LEAST = 12, 16  # with less, copying b or filling its panels costs too much: measured
# Places in the scratch memory. It begins with a row of zeros.
_EDGE = WIDTH
_COLUMNS = _EDGE + ROWS * WIDTH
_PANELS = _COLUMNS + _M_MOST * K_MOST * 8
_BYTES = _PANELS + K_MOST * N_BYTES


@part
def _pack_panels(
    like: Array, k: int, n: int, b: int, b_row: int, b_column: int, panels: int
) -> None:
    """Copy b (k, n) as panels, each of k rows of WIDTH bytes."""
    size = like.itemsize
    width, square = WIDTH // size, 16 // size
    for j in range(0, n, width):
        panel, source = panels + j * k * size, b + j * b_column
        done = 0
        if j + width <= n and b_column == size:
            done = k
            for p in range(k):
                copy_row(like, source + p * b_row, panel + p * WIDTH)
        elif j + width <= n and b_row == size:
            done = k - k % square
            for i in range(0, width, square):
                corner = source + i * b_column
                for p in range(0, done, square):
                    target = panel + p * WIDTH + i * size
                    transpose(like, corner + p * size, b_column, target, WIDTH)
        for p in range(done, k):
            for i in range(width):
                number = source + p * b_row + min(i, n - 1 - j) * b_column
                copy_number(like, number, panel + p * WIDTH + i * size)


@part
def _pack_columns(like: Array, m: int, k: int, a: int, a_column: int, columns: int) -> None:
    """Copy a (m, k), whose columns are contiguous, as blocks of k columns of ROWS numbers."""
    size = like.itemsize
    for i in range(0, m, ROWS):
        for p in range(k):
            source, target = a + i * size + p * a_column, columns + (i * k + p * ROWS) * size
            if i + ROWS <= m:
                copy_column(like, source, target)
            else:
                _copy_block(like, 1, m - i, source, 0, target, 0)


@part
def _copy_block(
    like: Array, m: int, n: int, source: int, source_row: int, target: int, target_row: int
) -> None:
    for i in range(m):
        for j in range(0, n * like.itemsize, like.itemsize):
            copy_number(like, source + i * source_row + j, target + i * target_row + j)


@part
def _product(
    like: Array, m: int, k: int, n: int, a: int, a_row: int, a_column: int, b: int, b_row: int,
    b_column: int, out: int, out_row: int, plus: int, plus_row: int, plus_column: int, room: int,
) -> None:  # fmt: skip
    """One product: out = plus + a @ b. Addresses, and steps in bytes."""
    size = like.itemsize
    width, n_most = WIDTH // size, N_BYTES // size
    edge, columns, panels = room + _EDGE, room + _COLUMNS, room + _PANELS
    passes = max((k + K_MOST - 1) // K_MOST, 1)
    k_most = max((k + passes - 1) // passes, 1)
    for n_at in range(0, n, n_most):
        n_here = min(n_most, n - n_at)
        for k_at in range(0, max(k, 1), k_most):
            k_here = min(k_most, k - k_at)
            corner = b + k_at * b_row + n_at * b_column
            _pack_panels(like, k_here, n_here, corner, b_row, b_column, panels)
            for i in range(0, m, ROWS):
                height = min(ROWS, m - i)
                rows, row, column = a + i * a_row + k_at * a_column, a_row, a_column
                if a_row == size and a_column != size:
                    packed = columns + i % _M_MOST * k_here * size
                    if i % _M_MOST == 0:
                        _pack_columns(like, min(_M_MOST, m - i), k_here, rows, column, packed)
                    rows, row, column = packed, size, ROWS * size
                for j in range(0, n_here, width):
                    breadth = min(width, n_here - j)
                    place = out + i * out_row + (n_at + j) * size
                    target, target_row = place, out_row
                    start, start_row = place, out_row
                    if k_at == 0:
                        start = plus + i * plus_row + (n_at + j) * plus_column
                        start_row = plus_row
                    whole = height == ROWS and breadth == width
                    if not whole:
                        _copy_block(like, height, breadth, start, start_row, edge, WIDTH)
                        start, start_row = edge, WIDTH
                        target, target_row = edge, WIDTH
                    panel = panels + j * k_here * size
                    tile(
                        like, k_here, rows, row, column, height - 1, panel,
                        start, start_row, target, target_row,
                    )  # fmt: skip
                    if not whole:
                        _copy_block(like, height, breadth, edge, WIDTH, place, out_row)


@part
def _fits(x: Array, out: Array, m: int, n: int) -> bool:
    """Whether x holds a matrix (m, n) for each of out's, or one for all along an axis."""
    for axis in range(2):
        if x.shape[axis] != 1 and x.shape[axis] != out.shape[axis]:
            return False
    return bool(x.shape[2] == m and x.shape[3] == n)


@part
def _matrix(x: Array, i: int, j: int) -> int:
    """Where the matrix at (i, j) lies."""
    outer = i * x.strides[0] if x.shape[0] > 1 else 0
    inner = j * x.strides[1] if x.shape[1] > 1 else 0
    return x.ctypes.data + outer + inner


def _products(a: Array, b: Array, out: Array, plus: Array, scratch: NDArray[np.uint8]) -> bool:
    """All products along two leading axes, or False if they are none of this kernel's."""
    size, (m, n), k = out.itemsize, out.shape[2:], a.shape[3]
    if m < _M_LEAST or n < _N_LEAST or out.strides[3] != size:
        return False
    if not (_fits(a, out, m, k) and _fits(b, out, k, n)):
        return False
    given = plus.shape[0] > 0
    many = plus.shape[2] > 1  # rows of plus: otherwise one for all
    if given and not (plus.strides[3] == size and _fits(plus, out, m if many else 1, n)):
        return False
    room = (scratch.ctypes.data + 63) // 64 * 64
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            begin, row, column = room, 0, 0
            if given:
                begin, row, column = _matrix(plus, i, j), plus.strides[2] * many, size
            _product(
                out, m, k, n, _matrix(a, i, j), a.strides[2], a.strides[3],
                _matrix(b, i, j), b.strides[2], b.strides[3],
                _matrix(out, i, j), out.strides[2], begin, row, column, room,
            )  # fmt: skip
    return True


@cache
def _kernel(dtype: np.dtype[Any]) -> tuple[Callable[..., bool], Array]:
    """`_products` for a dtype and any layout, and its `plus` where there is none."""
    number = numba.from_dtype(dtype)
    given = types.Array(number, 4, "A", readonly=True, aligned=False)
    out = types.Array(number, 4, "A", aligned=False)
    scratch = types.Array(types.uint8, 1, "C")
    kernel = compiled(_products, [types.boolean(given, given, out, given, scratch)])
    return kernel, np.empty((0, 0, 0, 0), dtype)


class _Scratch(threading.local):
    """Memory for the copies, one in each thread."""

    def __init__(self) -> None:
        self.memory = np.zeros(_BYTES + 63, np.uint8)


_scratch = _Scratch()


def matmul(a: Array, b: Array, out: Array, plus: Array | None = None) -> Array:
    """a @ b, and plus where it is given, written to `out` (..., m, n), which is returned.

    plus is broadcast against out. It may be a bias (n), or `out` itself, which adds to what is
    there. Otherwise out shares no memory with the others. Few rows or columns, other dtypes than
    float32 and float64, and more than two leading axes are NumPy's.
    """
    dtype = out.dtype
    few_axes = a.ndim <= out.ndim >= b.ndim and out.ndim <= 4
    if SUITED and few_axes and dtype == a.dtype == b.dtype and dtype in FLOATS:
        kernel, nothing = _kernel(dtype)
        begin = nothing if plus is None else _four_axes(plus)
        if begin.dtype == dtype and kernel(
            _four_axes(a), _four_axes(b), _four_axes(out), begin, _scratch.memory
        ):
            return out
    if plus is None:
        return np.matmul(a, b, out=out)
    return np.add(np.matmul(a, b), plus, out=out)


def _four_axes(x: Array) -> Array:
    return x[(None,) * (4 - x.ndim)]
