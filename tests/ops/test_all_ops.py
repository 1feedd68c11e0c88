"""What holds for every op, on every case: its formulas, its derivation, its dtype, its manners."""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from handformer import ops
from handformer.selfcheck.cases import all_cases, cast
from handformer.selfcheck.ops import Case, call, run, verify
from tests.ops.rounding import explained, results

AnyArray = NDArray[Any]
CASES = all_cases(np.random.default_rng(2))

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def drawn() -> np.random.Generator:
    return np.random.default_rng(1)


@every_case
def test_every_value_equals_its_formula(case: Case) -> None:
    values = verify(case, drawn(), differences=False).values
    assert {found.value for found in values} == {f.name for f in case.sheet if f.kept}
    wrong = [found for found in values if not found.difference <= 1e-12]
    assert not wrong


@every_case
def test_every_backward_formula_equals_differences(case: Case) -> None:
    gradients = verify(case, drawn()).gradients
    wrong = [found for found in gradients if not found.difference <= 1e-7]
    assert not wrong


@every_case
def test_float32_in_gives_float32_in_every_value(case: Case) -> None:
    wide, narrow = run(case, drawn()), run(cast(case, np.float32), drawn())
    for name, value in wide.items():
        found = narrow[name]
        assert isinstance(found, np.ndarray), f"{name} is a scalar, which no record would show"
        assert found.dtype == (np.float32 if value.dtype == np.float64 else value.dtype), name


@every_case
def test_float32_differs_from_float64_by_no_more_than_rounding(case: Case) -> None:
    """They may differ by as much as inputs that are rounded otherwise move the float64 value."""
    case = cast(case, np.float32)
    given = run(case, drawn())
    found, (right, allowed) = results(case.op, case, given), explained(case, given)
    for name, value in right.items():
        assert (np.abs(found[name] - 1.0 * value) <= allowed[name]).all(), name


def same(array: AnyArray) -> AnyArray:
    return array.copy()


def strided(array: AnyArray) -> AnyArray:
    """Every second entry of a wider array."""
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array.copy()


def transposed(array: AnyArray) -> AnyArray:
    """The last axis varies slowest in memory."""
    return np.array(array, order="F")


def turned(array: AnyArray) -> AnyArray:
    """Every axis runs backwards in memory."""
    return np.flip(np.flip(array).copy()) if array.ndim else array.copy()


@every_case
@pytest.mark.parametrize("layout", [same, strided, transposed, turned])
def test_arguments_of_any_layout_are_read_and_never_written(
    case: Case, layout: Callable[[AnyArray], AnyArray]
) -> None:
    """Inputs, values kept for backward, and gradients alike."""
    values = run(case, drawn())
    given = {name: layout(np.asarray(value)) for name, value in values.items()}
    for array in given.values():
        array.flags.writeable = False
    for names, function in ((case.sheet.forward, "forward"), (case.sheet.backward, "backward")):
        if names:
            result = call(getattr(case.op, function), {**case.scalars, **given})
            results = result if isinstance(result, tuple) else (result,)
            present = [part for part in results if part is not None]
            for name, found in zip(names, present, strict=True):
                scale = np.abs(values[name]).max(initial=0)
                assert_allclose(found, values[name], rtol=0, atol=1e-14 * scale, err_msg=name)


def test_every_op_that_states_formulas_has_a_case() -> None:
    names = [info.name for info in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}.")]
    stating = {name for name in names if hasattr(importlib.import_module(name), "FORMULAS")}
    assert stating == {case.op.__name__ for case in CASES}


def test_names_of_cases_tell_them_apart() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len({*names})
