"""Products of matrices: the compiled kernel against NumPy in float64, for any shape and layout."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from handformer.axes import Array
from handformer.fast.matmul import K_MOST, N_BYTES, matmul
from handformer.fast.microkernel import ROWS, SUITED, WIDTH

if not SUITED:
    pytest.skip("the kernel is for other CPUs", allow_module_level=True)

both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def drawn(dtype: Any, *shape: int) -> Array:
    """Random numbers, the same for the same shape, that nobody may write to."""
    array = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)
    array.flags.writeable = False
    return array


def unwritten(dtype: Any, *shape: int) -> Array:
    """An array in which nothing is right yet."""
    return np.full(shape, np.nan, dtype)


def assert_product(found: Array, a: Array, b: Array, plus: Array | float = 0.0) -> None:
    """Each product is rounded once, and so is each of the k additions, to eps of their sizes."""
    wide_a, wide_b, wide_plus = (np.asarray(x, np.float64) for x in (a, b, plus))
    error = np.abs(found - (wide_plus + wide_a @ wide_b))
    sizes = np.abs(wide_plus) + np.abs(wide_a) @ np.abs(wide_b)
    assert (error <= (a.shape[-1] + 1) * np.finfo(found.dtype).eps * sizes).all()


def by_columns(x: Array) -> Array:
    return np.asfortranarray(x)


def with_gaps(x: Array) -> Array:
    wide = np.full([2 * size for size in x.shape], np.nan, x.dtype)
    wide[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return wide[tuple(slice(None, None, 2) for _ in x.shape)]


def backwards(x: Array) -> Array:
    return x[..., ::-1, ::-1].copy()[..., ::-1, ::-1]


def rows_apart(x: Array) -> Array:
    wide = np.full((*x.shape[:-1], x.shape[-1] + 3), np.nan, x.dtype)
    wide[..., : x.shape[-1]] = x
    return wide[..., : x.shape[-1]]


def unaligned(x: Array) -> Array:
    room = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    room[...] = x
    return room


LAYOUTS = [np.array, by_columns, with_gaps, backwards, rows_apart, unaligned]
SIZES = [(1, 1, 1), (2, 5, 7), (5, 7, 2), (12, 1, 16), (17, 63, 65), (65, 17, 129), (64, 300, 48)]
# Beyond one block of b in both directions, with a rest in each.
SIZES += [(ROWS + 1, K_MOST + 1, N_BYTES // 4 + 5), (2 * ROWS, 2 * K_MOST + 44, WIDTH)]


@both_dtypes
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_a_product_is_that_of_float64_within_rounding(m: int, k: int, n: int, dtype: Any) -> None:
    a, b, out = drawn(dtype, m, k), drawn(dtype, k, n), unwritten(dtype, m, n)
    assert matmul(a, b, out) is out
    assert_product(out, a, b)


@pytest.mark.parametrize("m", range(1, 2 * ROWS + 2))
@pytest.mark.parametrize("n", [15, 16, 17, 31, 32, 33, 47])
def test_every_rest_of_a_block(m: int, n: int) -> None:
    a, b, out = drawn(np.float32, m, 9), drawn(np.float32, 9, n), unwritten(np.float32, m, n)
    assert_product(matmul(a, b, out), a, b)


@both_dtypes
@pytest.mark.parametrize("of_a", LAYOUTS)
@pytest.mark.parametrize("of_b", LAYOUTS)
def test_the_layout_changes_no_bit(
    of_a: Callable[[Array], Array], of_b: Callable[[Array], Array], dtype: Any
) -> None:
    a, b = drawn(dtype, 38, 263), drawn(dtype, 263, 83)
    plain, found = unwritten(dtype, 38, 83), unwritten(dtype, 38, 83)
    matmul(a, b, plain)
    assert_product(plain, a, b)
    np.testing.assert_array_equal(matmul(of_a(a), of_b(b), found), plain)


@both_dtypes
def test_only_the_product_is_written(dtype: Any) -> None:
    a, b = drawn(dtype, 20, 30), drawn(dtype, 30, 41)
    room = np.full((24, 60), 7, dtype)
    out = room[2:22, 9:50]
    assert_product(matmul(a, b, out), a, b)
    out[...] = 7
    assert (room == 7).all()


@both_dtypes
@pytest.mark.parametrize(
    ("leading_a", "leading_b"),
    [((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3)), ((2, 1), (1, 3)), ((1,), (3,))],
)
def test_leading_axes_are_broadcast(
    leading_a: tuple[int, ...], leading_b: tuple[int, ...], dtype: Any
) -> None:
    a, b = drawn(dtype, *leading_a, 19, 12), drawn(dtype, *leading_b, 12, 35)
    out = unwritten(dtype, *np.broadcast_shapes(leading_a, leading_b), 19, 35)
    assert_product(matmul(a, b, out), a, b)


def test_more_leading_axes_than_two() -> None:
    a, b = drawn(np.float32, 2, 2, 2, 13, 5), drawn(np.float32, 2, 1, 2, 5, 17)
    assert_product(matmul(a, b, unwritten(np.float32, 2, 2, 2, 13, 17)), a, b)


def test_heads_are_read_and_written_where_they_lie() -> None:
    q, k, v = drawn(np.float32, 2, 40, 3, 4, 16).transpose(2, 0, 3, 1, 4)
    scores = unwritten(np.float32, 2, 4, 40, 40)
    assert_product(matmul(q, k.swapaxes(-1, -2), scores), q, k.swapaxes(-1, -2))
    context = unwritten(np.float32, 2, 40, 4, 16).swapaxes(1, 2)
    assert_product(matmul(scores, v, context), scores, v)
    assert_product(matmul(scores.swapaxes(-1, -2), q, context), scores.swapaxes(-1, -2), q)


@both_dtypes
@pytest.mark.parametrize(("m", "k", "n"), [(20, 30, 41), (3, 4, 5), (20, 0, 32), (13, 600, 400)])
def test_plus_a_bias_a_matrix_or_what_is_there(m: int, k: int, n: int, dtype: Any) -> None:
    a, b = drawn(dtype, m, k), drawn(dtype, k, n)
    for plus in (drawn(dtype, n), drawn(dtype, 1, n), drawn(dtype, m, n), drawn(dtype, m, 1)):
        assert_product(matmul(a, b, unwritten(dtype, m, n), plus), a, b, plus)
    out = drawn(dtype, m, n).copy()
    assert_product(matmul(a, b, out, out), a, b, drawn(dtype, m, n))


def test_plus_is_broadcast_along_leading_axes() -> None:
    a, b = drawn(np.float32, 2, 3, 14, 8), drawn(np.float32, 8, 20)
    for shape in [(20,), (3, 14, 20), (2, 1, 1, 20), (2, 1, 14, 20)]:
        plus, out = drawn(np.float32, *shape), unwritten(np.float32, 2, 3, 14, 20)
        assert_product(matmul(a, b, out, plus), a, b, plus)


@pytest.mark.parametrize(("m", "k", "n"), [(20, 0, 32), (0, 20, 32), (20, 32, 0), (2, 0, 2)])
def test_no_entries(m: int, k: int, n: int) -> None:
    a, b, out = np.empty((m, k)), np.empty((k, n)), np.full((m, n), np.nan)
    np.testing.assert_array_equal(matmul(a, b, out), np.zeros((m, n)))


def test_nan_and_infinity_reach_what_depends_on_them_and_nothing_else() -> None:
    a, b = drawn(np.float32, 20, 30).copy(), drawn(np.float32, 30, 41).copy()
    a[3, 4], a[7, 5], b[6, 40], b[29, 2] = np.nan, np.inf, -np.inf, np.nan
    b[5, ::2] = 0
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    found = matmul(a, b, unwritten(np.float32, 20, 41))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(expected))
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    assert np.isnan(found[7, 0])  # inf * 0


def test_a_row_has_the_same_bits_among_other_rows() -> None:
    a, b = drawn(np.float32, 100, 300), drawn(np.float32, 300, 100)
    whole = matmul(a, b, unwritten(np.float32, 100, 100))
    part = matmul(a[41:60], b[:, 30:90], unwritten(np.float32, 19, 60))
    np.testing.assert_array_equal(part, whole[41:60, 30:90])


def test_threads_do_not_disturb_each_other() -> None:
    a, b = drawn(np.float32, 2, 200, 300), drawn(np.float32, 2, 300, 90)
    alone = matmul(a, b, unwritten(np.float32, 2, 200, 90))
    found = unwritten(np.float32, 2, 200, 200, 90)

    def work(i: int) -> None:
        for out in found[i]:
            matmul(a[i], b[i], out)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(found, np.broadcast_to(alone[:, None], found.shape))


@pytest.mark.parametrize(
    "shapes",
    [
        [(20, 30), (31, 40), (20, 40)],
        [(20, 30), (30, 40), (20, 41)],
        [(20, 30), (30, 40), (21, 40)],
        [(2, 20, 30), (3, 30, 40), (3, 20, 40)],
        [(2, 20, 30), (30, 40), (20, 40)],
        [(20, 30), (30, 40), (20, 40), (39,)],
        [(20, 30), (30, 40), (20, 40), (0,)],
        [(20, 30), (30, 40), (20, 40), (3, 20, 40)],
    ],
)
def test_shapes_that_do_not_fit(shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match=r"shape|dimension|operand"):
        matmul(*(np.zeros(shape, np.float32) for shape in shapes))


def test_other_dtypes_and_an_out_with_gaps() -> None:
    a, b = drawn(np.float32, 20, 30), drawn(np.float32, 30, 40)
    assert_product(matmul(a, b, unwritten(np.float32, 20, 80)[:, ::2]), a, b)
    assert_product(matmul(a, b.astype(np.float64), unwritten(np.float64, 20, 40)), a, b)
    swapped = matmul(a.astype(">f4"), b, unwritten(np.float32, 20, 40))
    assert_product(swapped, a, b)
    half = [x.astype(np.float16) for x in (a, b)]
    found = matmul(*half, unwritten(np.float16, 20, 40))
    np.testing.assert_array_equal(found, np.matmul(*half))


OTHER_CPU = """
import importlib
import numpy as np
from handformer.fast import matmul, microkernel
microkernel.ROWS, microkernel.WIDTH = 14, 128
microkernel.tile = microkernel.tile_of(14, 128, 64)
importlib.reload(matmul)
assert matmul.ROWS == 14
rng = np.random.default_rng(0)
for m, k, n in ((14, 37, 32), (75, 290, 450)):
    for turned in (False, True):
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        wide = a @ b
        if turned:
            a, b = np.asfortranarray(a), np.asfortranarray(b)
        found = matmul.matmul(a, b, np.empty((m, n)))
        np.testing.assert_allclose(found, wide, rtol=0, atol=1e-15 * k * 20)
"""


@pytest.mark.slow
def test_the_blocks_of_another_cpu(tmp_path: Any) -> None:
    """What is meant for AVX-512 is right wherever it is compiled, if not fast."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", OTHER_CPU], env=environment, check=True)
