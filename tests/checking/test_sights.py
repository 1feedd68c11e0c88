"""Dropout where there should be none is recognised by its random zeros, and only by these."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from handformer.checking.api import check
from handformer.checking.cases import build
from handformer.checking.report import Status, Verdict
from handformer.tracing.trace import Trace

BLOCK = "blocks.0"


@cache
def case() -> Trace:
    return build("gpt2-tiny")


def found(path: str, array: NDArray[Any]) -> Verdict:
    """What is said of one value in a dump that is right up to it."""
    whole = {v.path: case()[v.path] for v in case().manifest.values}
    dump = {p: a.astype(np.float32) if a.dtype.kind == "f" else a for p, a in whole.items()}
    first = check(dump | {path: array.astype(np.float32)}, case()).first
    assert first is not None
    assert first.path == path
    return first


@pytest.mark.parametrize(
    ("path", "row"),
    [
        (f"{BLOCK}.attention.context", "DROP-2"),
        (f"{BLOCK}.mlp.pre", "DROP-4"),
        (f"{BLOCK}.attention.d_v", "BA-7"),
    ],
)
def test_random_zeros_and_the_rest_scaled_up(path: str, row: str) -> None:
    keep = np.random.default_rng(5).random(case()[path].shape) >= 0.1
    assert [one.id for one in found(path, case()[path] * keep / 0.9).causes] == [row]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"{BLOCK}.mlp.pre", np.s_[:, -1]),
        (f"{BLOCK}.mlp.pre", np.s_[-1, -2:]),
        (f"{BLOCK}.attention.context", np.s_[-1]),
        (f"{BLOCK}.attention.d_v", np.s_[:, -1]),
        (f"{BLOCK}.mlp.d_w_up", np.s_[-1]),
        (f"{BLOCK}.mlp.d_w_up", np.s_[:, :3]),
    ],
)
@pytest.mark.parametrize("factor", [1.0, 1.25])
def test_whole_rows_of_zeros_are_no_dropout(path: str, place: Any, factor: float) -> None:
    array = case()[path] * factor
    array[place] = 0
    assert found(path, array).causes == ()


def test_random_zeros_alone_are_no_dropout() -> None:
    path = f"{BLOCK}.mlp.pre"
    keep = np.random.default_rng(5).random(case()[path].shape) >= 0.1
    one = found(path, case()[path] * keep)
    assert one.causes == ()
    assert one.status is Status.LAYOUT  # all that follows is right
