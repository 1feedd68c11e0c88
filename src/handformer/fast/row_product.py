"""Products of a few rows with a large matrix: what generation consists of.

A matrix product with one row uses each weight once, so it is as fast as memory is read, and half
the bytes take half the time: weights may be bfloat16 or float16 where x is float32. They are
widened in the registers; everything is summed in float32.

Layouts    where the weights of each output lie side by side in memory (a table's rows, a transposed
           view), an output is one product along a row, and threads share the outputs. Where those
           of each input do, x's entries scale the rows, and their sum grows in cache.
Pairs      two bfloat16 lie in one word of 32 bits. One shift, or one mask, turns each into a
           float32, which is cheaper than widening them one by one; x is put into the matching
           order first: its even places, then its odd ones.
Delicate   an entry is summed in the same order whatever the number of threads, and whichever rows
           x has besides: a row is in a batch as it would be alone.
"""

from typing import Any

import ml_dtypes
import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numpy.typing import NDArray

from handformer.axes import Array
from handformer.fast import crew, exponential
from handformer.fast.compiled import SETTINGS, compiled, part
from handformer.fast.crew import ORDER, Board, intrinsic, lead, task

MOST_ROWS = 8  # more are better off in a product of matrices
_PIECE = 1 << 16  # bytes of weights in a piece of work
LARGE = 1 << 18  # bytes of weights from which on it is worth sharing
# Weights as kernels see them. Numba knows no 16-bit floats: their bits are whole numbers there.
_FLOAT32, _FLOAT64, _BFLOAT16, _FLOAT16, _PAIRS = range(5)
_KINDS: dict[tuple[np.dtype, np.dtype], tuple[int, np.dtype]] = {
    (np.dtype(x), np.dtype(w)): (kind, np.dtype(seen))
    for x, w, kind, seen in (
        (np.float32, np.float32, _FLOAT32, np.float32),
        (np.float64, np.float64, _FLOAT64, np.float64),
        (np.float32, ml_dtypes.bfloat16, _BFLOAT16, np.uint16),
        (np.float32, np.float16, _FLOAT16, np.int16),
    )
}
_INLINED: Any = {
    "forceinline": True,
    **{n: s for n, s in SETTINGS.items() if n not in ("cache", "nogil")},
}
bits_as_float: Any = exponential.bits_as_float
carray = numba.carray  # type: ignore[attr-defined]


@intrinsic
def _wide(typingctx: Any, w: Any) -> Any:
    """A weight as the number it stands for, from what a kernel sees of it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (value,) = arguments
        if w == types.uint16:  # bfloat16 is the upper half of a float32
            bits = builder.shl(builder.zext(value, ir.IntType(32)), ir.Constant(ir.IntType(32), 16))
            return builder.bitcast(bits, ir.FloatType())
        if w == types.int16:
            return builder.fpext(builder.bitcast(value, ir.HalfType()), ir.FloatType())
        return value

    return (types.float32 if w in (types.uint16, types.int16) else w)(w), code


@intrinsic
def _pointer(typingctx: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), code


def _dot(x: Array, row: NDArray[Any]) -> float:
    """The sum of the products of x and a row of weights."""
    raise NotImplementedError("inside compiled code only")


@extending.overload(_dot, jit_options=_INLINED)
def _(x, row):  # type: ignore[no-untyped-def]  # annotations would have to be the same
    def one_by_one(x, row):  # type: ignore[no-untyped-def]
        total = x.dtype.type(0)
        for i in range(row.size):
            total += x[i] * _wide(row[i])
        return total

    def by_pairs(x, row):  # type: ignore[no-untyped-def]
        first, second = np.float32(0), np.float32(0)
        even, odd = x[: row.size], x[row.size :]
        for i in range(row.size):
            first += even[i] * bits_as_float(np.int32(row[i] << np.int32(16)))
            second += odd[i] * bits_as_float(np.int32(row[i] & np.int32(-65536)))
        return first + second

    return by_pairs if row.dtype == types.int32 else one_by_one


@part
def _along_rows(x: Array, table: NDArray[Any], first: int, end: int, y: Array) -> None:
    """y[:, first:end] from x (n, in) and the table's rows first ... end - 1."""
    for j in range(first, end):
        row = table[j]
        for r in range(x.shape[0]):
            y[r, j] = _dot(x[r], row)


@part
def _by_parity(x: Array) -> Array:
    """The rows of x with their even places first, then the odd ones."""
    y = np.empty_like(x)
    half = x.shape[1] // 2
    for r in range(x.shape[0]):
        for i in range(half):
            y[r, i], y[r, half + i] = x[r, 2 * i], x[r, 2 * i + 1]
    return y


@task
def piece_of_product(order: int, piece: int) -> None:
    """A piece of the product that `multiply` has written to the board."""
    words = carray(_pointer(order), 8, np.int64)
    kind, n, width, outs = words[0], words[1], words[2], words[3]
    x_place, table_place, y_place = _pointer(words[4]), _pointer(words[5]), _pointer(words[6])
    first, end = piece * words[7], min((piece + 1) * words[7], outs)
    if kind == _FLOAT64:
        wide_x = carray(x_place, (n, width), np.float64)
        wide = carray(table_place, (outs, width), np.float64)
        _along_rows(wide_x, wide, first, end, carray(y_place, (n, outs), np.float64))
        return
    x = carray(x_place, (n, width), np.float32)
    y = carray(y_place, (n, outs), np.float32)
    if kind == _PAIRS:
        _along_rows(x, carray(table_place, (outs, width // 2), np.int32), first, end, y)
        return
    if kind == _FLOAT32:
        _along_rows(x, carray(table_place, (outs, width), np.float32), first, end, y)
    elif kind == _BFLOAT16:
        _along_rows(x, carray(table_place, (outs, width), np.uint16), first, end, y)
    else:
        _along_rows(x, carray(table_place, (outs, width), np.int16), first, end, y)


@compiled
def multiply(board: Board, task: int, kind: int, x: Array, table: NDArray[Any], y: Array) -> None:
    """y (n, out) from x (n, in) and the table (out, in), by the crew where that is worth it.

    board, task and kind are those of `crew.run`, `piece_of_product` and `seen`.
    """
    if kind == _PAIRS:
        _multiply(board, task, kind, _by_parity(x), table, y)
    else:
        _multiply(board, task, kind, x, table, y)


@compiled
def _multiply(board: Board, task: int, kind: int, x: Array, table: NDArray[Any], y: Array) -> None:
    """`multiply` with x in the order of its kind.

    The pieces know arrays by their addresses alone. Numba keeps an argument until the call returns,
    but gives the memory of a local array back as soon as its name isn't mentioned any more.
    """
    outs, width = table.shape
    bytes_of_row = width * table.itemsize
    if outs * bytes_of_row < LARGE:
        _along_rows(x, table, 0, outs, y)
        return
    per_piece = max(1, _PIECE // bytes_of_row)
    order = board[ORDER:]
    order[0], order[1], order[2], order[3] = kind, x.shape[0], x.shape[1], outs
    order[4], order[5], order[6] = x.ctypes.data, table.ctypes.data, y.ctypes.data
    order[7] = per_piece
    lead(board, task, (outs + per_piece - 1) // per_piece)


@compiled
def _through_columns(x: Array, w: NDArray[Any], y: Array) -> None:
    """y from x (n, in) and w (in, out), eight rows of w at a time."""
    width = w.shape[0]
    whole = width - width % 8
    y[:] = y.dtype.type(0)
    for i in range(0, whole, 8):
        w0, w1, w2, w3 = w[i], w[i + 1], w[i + 2], w[i + 3]
        w4, w5, w6, w7 = w[i + 4], w[i + 5], w[i + 6], w[i + 7]
        for r in range(x.shape[0]):
            here, out = x[r], y[r]
            x0, x1, x2, x3 = here[i], here[i + 1], here[i + 2], here[i + 3]
            x4, x5, x6, x7 = here[i + 4], here[i + 5], here[i + 6], here[i + 7]
            for j in range(out.size):
                first = (x0 * _wide(w0[j]) + x1 * _wide(w1[j])) + (
                    x2 * _wide(w2[j]) + x3 * _wide(w3[j])
                )
                second = (x4 * _wide(w4[j]) + x5 * _wide(w5[j])) + (
                    x6 * _wide(w6[j]) + x7 * _wide(w7[j])
                )
                out[j] += first + second
    for i in range(whole, width):
        row = w[i]
        for r in range(x.shape[0]):
            out, factor = y[r], x[r, i]
            for j in range(out.size):
                out[j] += factor * _wide(row[j])


def seen(x: np.dtype, w: NDArray[Any]) -> tuple[int, NDArray[Any]] | None:
    """The kind of product that w makes with an x of that dtype, and w as kernels see it, (out, in).

    None where the weights of an output don't lie side by side, or the dtypes aren't known.
    """
    known = _KINDS.get((x, w.dtype))
    if known is None or not w.flags.f_contiguous:
        return None
    kind, dtype = known
    if kind == _BFLOAT16 and w.shape[0] % 2 == 0:
        kind, dtype = _PAIRS, np.dtype(np.int32)
    return kind, w.T.view(dtype)


def forward(x: Array, w: NDArray[Any], bias: Array | None) -> Array | None:
    """y (..., out) of x's dtype from x (..., in), w (in, out) and bias (out) or None.

    None where that isn't for these kernels: many rows, other dtypes, a w that isn't contiguous.
    """
    known = _KINDS.get((x.dtype, w.dtype))
    width, outs = w.shape
    if known is None or x.size > MOST_ROWS * width or not w.flags.forc:
        return None
    rows = np.ascontiguousarray(x).reshape(-1, width)
    y = np.empty((len(rows), outs), x.dtype)
    laid_out = seen(x.dtype, w)
    if laid_out is None:
        _through_columns(rows, w.view(known[1]), y)
        return _with(bias, y.reshape((*x.shape[:-1], outs)))
    kind, table = laid_out
    if w.nbytes < LARGE:
        multiply(crew.NOBODY, 0, kind, rows, table, y)
    else:
        crew.shared().run(multiply, piece_of_product(), kind, rows, table, y)
    return _with(bias, y.reshape((*x.shape[:-1], outs)))


def _with(bias: Array | None, y: Array) -> Array:
    return y if bias is None else y + bias
