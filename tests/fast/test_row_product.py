"""Products of a few rows: any kind of weights, both layouts, any size, any number of threads."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer import fast
from handformer.axes import Array
from handformer.fast import crew, row_product
from handformer.ops import linear as plain

KINDS = {
    "float64": (np.float64, np.float64),
    "float32": (np.float32, np.float32),
    "bfloat16": (np.float32, ml_dtypes.bfloat16),
    "float16": (np.float32, np.float16),
}
# The last is large enough to be shared, in pieces that don't come out even.
SIZES = [(1, 1), (5, 3), (8, 40), (577, 1031)]
every_kind = pytest.mark.parametrize("kind", KINDS)


def drawn(kind: str, rows: tuple[int, ...], width: int, outs: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(width + outs)
    x_dtype, w_dtype = KINDS[kind]
    x = rng.normal(size=(*rows, width)).astype(x_dtype)
    return x, rng.normal(size=(width, outs)).astype(w_dtype), rng.normal(size=outs).astype(x_dtype)


def along_rows(w: Array) -> Array:
    return np.asfortranarray(w)


def through_columns(w: Array) -> Array:
    return np.ascontiguousarray(w)


every_layout = pytest.mark.parametrize("layout", [along_rows, through_columns])


@pytest.fixture(params=[0, 1, 3])
def helpers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A crew of that many helpers in the place of the shared one."""
    own = crew.Crew(request.param)
    monkeypatch.setattr(crew, "shared", lambda: own)
    yield
    own.close()


@every_kind
@every_layout
@pytest.mark.parametrize(("width", "outs"), SIZES)
@pytest.mark.parametrize("rows", [(), (1,), (2, 3)])
def test_it_is_the_plain_product(
    kind: str, layout: Any, width: int, outs: int, rows: tuple[int, ...]
) -> None:
    x, w, bias = drawn(kind, rows, width, outs)
    for array in (x, w, bias):
        array.flags.writeable = False
    w, wide = layout(w), w.astype(np.float64)
    shadow = x.astype(np.float64) @ wide
    # A sum of n products is off by n roundings of the sum of their sizes, at the very worst.
    bound = (width + 2) * np.finfo(x.dtype).eps * (np.abs(x.astype(np.float64)) @ np.abs(wide))
    for offset in (None, bias):
        y = row_product.forward(x, w, offset)
        assert y is not None
        assert (y.shape, y.dtype) == ((*rows, outs), x.dtype)
        right = shadow if offset is None else shadow + offset
        assert (np.abs(y - right) <= bound + 2 * np.finfo(x.dtype).eps * np.abs(right)).all()
        assert_array_equal(fast.linear.forward(x, w, offset), y)


@every_kind
@pytest.mark.usefixtures("helpers")
def test_the_number_of_threads_changes_no_bit(kind: str) -> None:
    x, w, _ = drawn(kind, (3,), 577, 1031)
    w = along_rows(w)
    assert w.nbytes >= row_product.LARGE
    alone = np.empty((3, 1031), x.dtype)
    number, table = row_product.seen(x.dtype, w) or (0, w)
    row_product.multiply(
        crew.Crew(0)._board, row_product.piece_of_product(), number, x, table, alone
    )
    for _ in range(30):
        found = row_product.forward(x, w, None)
        assert found is not None
        assert found.tobytes() == alone.tobytes()


@every_kind
@every_layout
def test_a_row_is_in_a_batch_as_it_would_be_alone(kind: str, layout: Any) -> None:
    x, w, _ = drawn(kind, (8,), 577, 1031)
    together = row_product.forward(x, layout(w), None)
    assert together is not None
    for row in range(8):
        assert_array_equal(row_product.forward(x[row], layout(w), None), together[row])


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@every_layout
def test_every_number_of_16_bits_is_widened_exactly(dtype: Any, layout: Any) -> None:
    w = np.arange(1 << 16).astype(np.uint16).view(dtype).reshape(1, -1)
    found = row_product.forward(np.ones((1, 1), np.float32), layout(w), None)
    with np.errstate(invalid="ignore"):
        assert_array_equal(found, w.astype(np.float32))  # infinite ones, NaN and the smallest too


@every_layout
def test_what_is_not_finite_stays_so(layout: Any) -> None:
    x = np.array([[0.0, 1.0, np.inf]], np.float32)
    w = np.array([[np.inf, 1, 1, 0], [1, -np.inf, 1, 0], [0.5, 1, 1, 1]], np.float32)
    with np.errstate(invalid="ignore"):
        assert_array_equal(row_product.forward(x, layout(w), None), x @ w)


def test_many_rows_other_dtypes_and_other_layouts_are_for_others() -> None:
    x, w, bias = drawn("float32", (2,), 6, 4)
    many = np.ones((row_product.MOST_ROWS + 1, 6), np.float32)
    assert row_product.forward(many[:-1], w, None) is not None
    assert row_product.forward(many, w, None) is None
    assert row_product.forward(x.astype(np.float64), w, None) is None
    assert row_product.forward(x, np.ones((6, 8), np.float32)[:, ::2], None) is None
    assert_allclose(fast.linear.forward(many, w, bias), many @ w + bias, rtol=1e-5)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("ops", [fast.linear, plain])
def test_many_rows_with_weights_of_16_bits_give_float32(dtype: Any, ops: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 6)).astype(np.float32)
    w = rng.normal(size=(6, 4)).astype(dtype)
    d_y = rng.normal(size=(20, 4)).astype(np.float32)
    y = ops.forward(x, w, None)
    assert y.dtype == np.float32
    assert_allclose(y, x @ w.astype(np.float32), rtol=0, atol=1e-5)
    back = ops.backward(d_y, x, w, None)
    assert {back.d_x.dtype, back.d_w.dtype} == {np.dtype(np.float32)}
    assert_allclose(back.d_x, d_y @ w.astype(np.float32).T, rtol=0, atol=1e-5)


def test_pieces_read_no_memory_that_was_given_back() -> None:
    """Freed memory is overwritten at once here, by a setting of the C library."""
    program = """
import ml_dtypes, numpy as np
from handformer.fast import row_product
rng = np.random.default_rng(0)
x, table = rng.standard_normal((2, 4096)).astype("f4"), rng.standard_normal((96, 4096))
w = table.astype(ml_dtypes.bfloat16).T
right = x.astype("f8") @ w.astype("f8")
for _ in range(5):
    assert np.abs(row_product.forward(x, w, None) - right).max() < 1e-2
"""
    perturbed = {**os.environ, "MALLOC_PERTURB_": "165"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=perturbed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
