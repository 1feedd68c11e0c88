"""What the catalogue says of its cases holds; they are the same each time, and in a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from handformer import tree
from handformer.checking.cases import build, catalogue
from handformer.checking.cases.models import MODELS
from handformer.checking.compare import compare
from handformer.errors import InputError
from handformer.formula.rounding import bounded
from handformer.models import CLASSES
from handformer.tracing.cut import forecast
from handformer.tracing.trace import Trace
from tests.checking.cases.made import LARGE, SMALL, info, made


def test_each_case_has_a_name_and_a_sentence() -> None:
    names = [one.name for one in catalogue()]
    assert len({*names}) == len(names) > 30
    for one in catalogue():
        assert one.name == one.name.lower().replace(" ", "-"), one.name
        assert one.says[0].isupper(), one.name
        assert one.says.endswith("."), one.name
        assert len(one.says) < 100, one.name


@pytest.mark.parametrize("name", SMALL)
def test_it_says_how_much_there_is(name: str) -> None:
    trace = made(name)
    size = sum(value.nbytes for value in trace.manifest.values)
    found = f'into counted.py: "{name}": ({len(trace)}, {size:_}),'
    assert (info(name).values, info(name).nbytes) == (len(trace), size), found
    assert trace.manifest.name == name


@pytest.mark.parametrize("name", LARGE)
def test_it_says_how_much_a_large_one_holds(name: str) -> None:
    _, whole = MODELS[name]
    narrow = {"d_model": 6, "n_heads": 3, "n_kv_heads": 1, "d_k": 2, "d_ff": 5, "vocab_size": 9}
    if name == "gpt2-small":
        narrow["n_kv_heads"] = 3
    trace = replace(whole, settings={**whole.settings, **narrow}).build(name)
    assert info(name).values == len(trace)
    read = [[0] * info(name).sizes["tokens"]] * info(name).sizes["batch"]
    outline = CLASSES[whole.config.family].outline(whole.config)
    weights = sum(array.size for array in tree.flatten(outline).values())
    # Weights are given in 4 bytes, not 8. Not forecast: the masks, a byte an entry.
    told = forecast(whole.config, read, np.float64) - 4 * weights
    assert info(name).nbytes == pytest.approx(told, rel=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_every_value_follows_from_its_formula(name: str) -> None:
    trace = made(name)
    checked = 0
    for value in trace.manifest.values:
        if value.kind in ("weight", "input"):
            assert value.scope is None, value.path
            continue
        assert value.scope is not None, value.path
        inside, scalars = trace.inside(value.scope), trace.scalars(value.scope)
        own = value.path.removeprefix(f"{value.scope}.") if value.scope else value.path
        right = bounded(trace.sheet(value.scope), own, inside, scalars, unit=2.0**-53)
        assert right.value.shape == value.shape, value.path
        assert compare(trace[value.path], right).fine, value.path
        checked += 1
    assert checked


@pytest.mark.parametrize("name", SMALL)
def test_what_is_given_is_in_float32_and_what_is_expected_in_float64(name: str) -> None:
    for value in made(name).manifest.values:
        array = made(name)[value.path]
        assert array.dtype.name == value.dtype, value.path
        assert array.dtype.kind != "f" or np.isfinite(array).all(), value.path
        if value.kind in ("weight", "input") and array.dtype.kind == "f":
            assert (array == array.astype(np.float32)).all(), value.path
        elif array.dtype.kind == "f":
            assert value.dtype == "float64", value.path


@pytest.mark.parametrize("name", SMALL)
def test_it_is_the_same_each_time_and_in_its_file(name: str, tmp_path: Path) -> None:
    one, other = tmp_path / "one.safetensors", tmp_path / "other.safetensors"
    made(name).save(one)
    build(name).save(other)
    assert one.read_bytes() == other.read_bytes()
    loaded = Trace.load(one)
    assert loaded.manifest == made(name).manifest
    for path in made(name):
        np.testing.assert_array_equal(loaded[path], made(name)[path], strict=True)


def test_an_unknown_name_is_one_line_with_the_near_ones() -> None:
    with pytest.raises(InputError, match=r"unknown case gpt2-tny; did you mean .*gpt2-tiny"):
        build("gpt2-tny")
