"""The numbers themselves tell in which type, or with how many digits, they were written."""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from handformer.checking import exchange
from handformer.checking.exchange.rounding import FLOAT32, computed_in, rounding

DRAWN = np.random.default_rng(8).normal(size=(20, 20))


@pytest.mark.parametrize("stored", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_widened_halves_are_recognised(kind: Any, stored: Any) -> None:
    assert computed_in(DRAWN.astype(kind).astype(stored)) == kind
    assert computed_in(np.asfortranarray(DRAWN.astype(kind).astype(stored))[:, ::2]) == kind


def test_widened_float32_is_recognised() -> None:
    assert computed_in(DRAWN.astype(np.float32).astype(np.float64)) == np.float32
    assert rounding(DRAWN.astype(np.float32).astype(np.float64))[0] == FLOAT32
    assert computed_in(DRAWN) == np.float64


def test_one_number_of_more_digits_is_enough() -> None:
    many = np.tile(DRAWN.astype(np.float16).astype(np.float32), (500, 1))
    assert computed_in(many) == np.float16
    for longer in (1 / 3, 1 + 2**-11):
        many[-1, -1] = np.float32(longer)
        assert computed_in(many) == np.float32


@pytest.mark.parametrize(
    "numbers",
    [
        np.ones(300),
        np.zeros(300),
        np.tile([0.0, 1.0, -1.0, 0.5], 80),
        np.arange(-120.0, 120.0),  # whole numbers fit as they are
        np.arange(-60.0, 60.0) / 8,
        np.array([0.1, 0.7]).astype(np.float16),  # too few to tell
        np.array([np.nan, np.inf] * 30),
        np.float32(0.5),
    ],
)
def test_numbers_that_fit_any_type_are_not_taken_for_halves(numbers: Any) -> None:
    assert computed_in(np.asarray(numbers, np.float32)) == np.float32


def test_numbers_that_are_not_finite_say_nothing() -> None:
    halves = DRAWN.astype(np.float16).astype(np.float32)
    halves[0, :4] = np.inf, -np.inf, np.nan, 0
    assert computed_in(halves) == np.float16
    singles = DRAWN.astype(np.float32)
    singles[0, 0] = 1e30  # beyond float16
    assert computed_in(singles) == np.float32


def test_small_halves_are_rounded_to_a_step() -> None:
    assert rounding(DRAWN.astype(np.float16).astype(np.float32)) == (2**-11, 2**-25)
    assert rounding(np.arange(4)) == (0.0, 0.0)


def written(text: str, folder: Path, name: str = "a") -> tuple[float, float]:
    (folder / "a.json").write_text(text)
    found = exchange.read(folder / "a.json")[name]
    return found.unit, found.quantum


def listed(form: str, numbers: Any = DRAWN) -> str:
    return '{"a": [' + ", ".join(form % number for number in np.ravel(numbers).tolist()) + "]}"


@pytest.mark.parametrize(
    ("form", "unit", "quantum"),
    [
        ("%.4f", FLOAT32, 5e-5),
        ("%.6f", FLOAT32, 5e-7),
        ("%.4g", 5e-4, 0),
        ("%.3e", 5e-4, 0),
        ("%.6e", 5e-7, 0),
        ("%.9g", FLOAT32, 0),
        ("%r", FLOAT32, 0),
    ],
)
def test_written_digits_tell_the_rounding(
    form: str, unit: float, quantum: float, tmp_path: Path
) -> None:
    found = written(listed(form), tmp_path)
    assert found == (pytest.approx(unit), pytest.approx(quantum, abs=1e-12))


def test_zeros_at_the_end_may_be_left_out(tmp_path: Path) -> None:
    text = json.dumps({"a": [round(number, 4) for number in DRAWN.ravel().tolist()]})
    assert written(text, tmp_path) == (FLOAT32, pytest.approx(5e-5))


def test_large_and_small_numbers_with_as_many_decimals(tmp_path: Path) -> None:
    assert written(listed("%.3f", DRAWN * 100), tmp_path) == (FLOAT32, pytest.approx(5e-4))
    assert written(listed("%.5f", DRAWN / 1000), tmp_path) == (FLOAT32, pytest.approx(5e-6))


def test_a_short_array_is_written_as_the_others_are(tmp_path: Path) -> None:
    text = listed("%.4f")[:-1] + ', "b": [0.5, 0.25], "c": 0.123456}'
    assert written(text, tmp_path, "b") == (FLOAT32, pytest.approx(5e-5))
    assert written(text, tmp_path, "c") == (FLOAT32, pytest.approx(5e-5))


def test_few_digits_are_taken_as_they_stand(tmp_path: Path) -> None:
    assert written('{"a": [0.5, 0.25, -1.5, 2.0]}', tmp_path) == (FLOAT32, 0)
    assert written(listed("%.1f"), tmp_path) == (FLOAT32, 0)
    assert written('{"a": [0.6698, 0.3302]}', tmp_path) == (FLOAT32, pytest.approx(5e-5))
