"""The program by hand is right, each of its mistakes is one, and each other way isn't."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from handformer.checking import cases
from tests.checking.theirs import (
    alone,
    model,
    probes,
    rows_before,
    rows_files,
    rows_forward,
)
from tests.checking.theirs.case import read
from tests.checking.theirs.rows import ROWS
from tests.checking.theirs.same import SAME

# The gradient of the keys' bias is 0, up to rounding.
FLOOR = 1e-4
COMPUTED = ("value", "gradient", "weight_gradient")
SPECIAL = {
    "gpt2": ("", "left padding", "dropout", "smoothing", "untied", "low variance"),
    "llama": ("", "left padding", "dropout", "tied", "long"),
    "bert": ("", "left padding", "dropout", "untied"),
    "transformer": ("", "left padding", "dropout", "shared", "untied", "same lengths"),
}


def off(theirs: Any, right: Any) -> float:
    """How far apart, as a part of the greatest number; infinite where shapes differ."""
    if theirs.shape != right.shape:
        return np.inf
    theirs, right = (np.asarray(part, np.float64) for part in (theirs, right))
    same = (theirs == right) | (np.isnan(theirs) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        differ = np.where(same, 0, np.abs(theirs - right))
    largest = np.max(np.abs(right), initial=0, where=np.isfinite(right))
    return float(
        np.max(np.where(np.isnan(differ), np.inf, differ), initial=0) / max(largest, FLOOR)
    )


@pytest.mark.parametrize(
    ("family", "special"), [(f, special) for f in SPECIAL for special in SPECIAL[f]]
)
def test_without_mistakes_every_value_is_the_case_s(family: str, special: str) -> None:
    trace = probes.trace(family, special)
    dump = model.run(probes.case(family, special), dtype=np.float64)
    computed = [value for value in trace.manifest.values if value.kind in COMPUTED]
    assert len(computed) > 100
    for value in computed:
        assert dump[value.path].shape == value.shape
        np.testing.assert_allclose(
            dump[value.path], trace[value.path], rtol=1e-10, atol=1e-10, err_msg=value.path
        )
    known = {path for value in trace.manifest.values for path in (value.path, *value.also)}
    assert dump.keys() <= known


def each(table: Mapping[str, Any]) -> list[Any]:
    """Every entry in its first model; in its others where there is time."""
    return [
        pytest.param(name, family, marks=[pytest.mark.slow] if place else [])
        for name, entry in table.items()
        for place, family in enumerate(entry.families)
    ]


@cache
def right_one(family: str, special: str, dtype: str, weights: bool) -> dict[str, Any]:
    dump = model.run(probes.case(family, special), dtype=dtype, weights=weights)
    for value in probes.trace(family, special).manifest.values:
        if value.path in dump:
            dump |= {path: dump[value.path] for path in value.also if path not in dump}
    return dump


def differing(family: str, special: str, wrong: Any, right: Any, small: float) -> list[str]:
    """The paths at which two dumps differ, in the order of the computation."""
    values = probes.trace(family, special).manifest.values
    paths = [path for value in values for path in (value.path, *value.also) if path in wrong]
    return [path for path in paths if off(wrong[path], right[path]) > small]


@pytest.mark.parametrize(("name", "family"), each(ROWS))
def test_a_mistake_shows_first_where_its_row_says(name: str, family: str) -> None:
    row = ROWS[name]
    right = right_one(family, row.probe, row.dtype, row.weights)
    wrong = model.run(probes.case(family, row.probe), [name], dtype=row.dtype, weights=row.weights)
    small = 1e-12 if row.dtype == "float64" else 1e-3
    first = differing(family, row.probe, wrong, right, small)[:1]
    assert first, "nothing differs"
    assert row.begins(first[0]), first
    assert off(wrong[first[0]], right[first[0]]) > 100 * small
    if row.kind == "values":
        assert wrong[first[0]].shape == right[first[0]].shape


@pytest.mark.parametrize("name", ["SCALE-1", "NORM-1", "FFN-1:erf", "RES-2", "BA-1", "BN-2"])
def test_a_mistake_of_one_block_is_made_there_alone(name: str) -> None:
    row = ROWS[name]
    right = right_one("gpt2", "", "float64", False)
    there = 0 if row.backward else 1
    wrong = model.run(probes.case("gpt2"), [name], where=there, dtype=np.float64)
    assert differing("gpt2", "", wrong, right, 1e-12)[0].startswith(f"blocks.{there}.")


def test_what_cannot_be_made_in_a_model_is_refused() -> None:
    for name in ("ROPE-1", "no such mistake"):
        with pytest.raises(ValueError, match="can't be made in gpt2"):
            model.run(probes.case("gpt2"), [name])


@pytest.mark.parametrize(("name", "family"), each(SAME))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_another_way_gives_the_same_values(name: str, family: str, dtype: str) -> None:
    right = right_one(family, "", "float64", False)
    other = model.run(probes.case(family), [name], dtype=dtype)
    shown = [path for path in other if SAME[name].shown(path)]
    assert len(shown) > 100
    # Of the sums of some hundred products that stand behind a gradient.
    unit = np.finfo(dtype).eps * 1000
    for path in shown:
        scale = max(1.0, float(np.max(np.abs(right[path]))))
        np.testing.assert_allclose(
            other[path] / scale, right[path] / scale, rtol=0, atol=unit, err_msg=path
        )


@cache
def ready(name: str) -> Any:
    return cases.build(name)


@pytest.mark.parametrize("name", [alone.ALIBI, alone.WINDOW, alone.CHUNK])
def test_without_mistakes_every_value_of_a_layer_alone_is_its_case_s(name: str) -> None:
    trace = ready(name)
    dump = alone.run(read(trace), dtype=np.float64)
    computed = [value.path for value in trace.manifest.values if value.kind in COMPUTED]
    assert dump.keys() == set(computed)
    for path in computed:
        np.testing.assert_allclose(dump[path], trace[path], rtol=1e-10, atol=1e-10, err_msg=path)


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, row in alone.ROWS.items() for case in row.families]
)
def test_a_mistake_of_a_layer_alone_shows_first_where_its_row_says(name: str, case: str) -> None:
    trace = ready(case)
    right, wrong = (alone.run(read(trace), made, dtype=np.float64) for made in ((), (name,)))
    paths = [value.path for value in trace.manifest.values if value.path in right]
    differ = [path for path in paths if off(wrong[path], right[path]) > 1e-10]
    assert alone.ROWS[name].begins(differ[0])


def test_alibi_by_the_key_alone_gives_the_same_weights() -> None:
    (name,) = alone.SAME
    case = read(ready(alone.ALIBI))
    right, other = (alone.run(case, made, dtype=np.float64) for made in ((), (name,)))
    assert off(other["bias"], right["bias"]) > 0.1
    for path in right.keys() - set(alone.SAME[name]):
        assert off(other[path], right[path]) < 1e-10, path


@pytest.mark.parametrize(
    "name", ["gpt2-padded", "gpt2-stress", "llama-padded", "bert-tiny", "encoder-decoder-tiny"]
)
def test_without_mistakes_every_value_is_that_of_a_ready_made_case(name: str) -> None:
    trace = ready(name)
    dump = model.run(read(trace), dtype=np.float64)
    computed = [value.path for value in trace.manifest.values if value.kind in COMPUTED]
    assert len(computed) > 70
    for path in computed:
        assert off(dump[path], trace[path]) < 1e-10, path


@pytest.mark.parametrize(
    ("family", "special"), [(f, special) for f in SPECIAL for special in SPECIAL[f]]
)
def test_autograd_finds_the_gradients_of_the_case(family: str, special: str) -> None:
    pytest.importorskip("torch")
    trace = probes.trace(family, special)
    dump = model.run(probes.case(family, special), dtype=np.float64, autograd=True)
    main = {path: value for value in trace.manifest.values for path in (value.path, *value.also)}
    for path, array in dump.items():
        right = trace[main[path].path]
        np.testing.assert_allclose(array, right, rtol=1e-10, atol=1e-10, err_msg=path)
    found = {main[path].path for path in dump}
    weights = {v.path for v in trace.manifest.values if v.kind == "weight_gradient"}
    assert weights <= found


@pytest.mark.parametrize(
    ("name", "family"), each(rows_before.ROWS | rows_forward.ROWS | rows_files.LOADING)
)
def test_autograd_runs_a_mistake_forward_as_numpy_does(name: str, family: str) -> None:
    pytest.importorskip("torch")
    row = ROWS[name]
    case = probes.case(family, row.probe)
    one = model.run(case, [name], dtype=row.dtype, backward=False)
    other = model.run(case, [name], dtype=row.dtype, autograd=True)
    assert one.keys() <= other.keys()
    for path, array in one.items():
        assert off(other[path], array) < (1e-12 if row.dtype == "float64" else 1e-3), path
