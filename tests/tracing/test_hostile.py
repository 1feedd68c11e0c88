"""What anybody may have written or asked for: refused in a line, soon, and with nothing lost."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handformer as hand
from handformer.errors import InputError
from handformer.formula import FormulaError, Sheet
from handformer.tracing import explain
from handformer.tracing.fit import require_fit
from handformer.tracing.manifest import Manifest, Placed, Value
from handformer.tracing.trace import Trace
from tests.tracing.small import model, traced


def written(sheet: str, scalars: dict[str, int] | None = None) -> Trace:
    """A trace of a vector x and a number y, with formulas of somebody's own."""
    manifest = Manifest(
        name="odd", model="Odd", config=None, dtype="float64", sheets=(sheet,),
        scopes=(Placed(path="s", layer="Odd", sheet=0, scalars=scalars or {}),),
        values=(
            Value(path="s.x", kind="input", axes=("i",), shape=(3,), dtype="float64"),
            Value(path="s.y", kind="value", axes=(), shape=(), dtype="float64", scope="s"),
        ),
    )  # fmt: skip
    return Trace(manifest, {"s.x": np.arange(3.0), "s.y": np.array(1.0)})


def doubling(count: int) -> str:
    lines = [f"a{one} := a{one + 1} + a{one + 1}" for one in range(count)]
    return "\n".join(["y = a0 + x[0]", *lines, f"a{count} := x[1]"])


def chain(count: int) -> str:
    lines = [f"a{one} := a{one + 1}" for one in range(count)]
    return "\n".join(["y = a0", *lines, f"a{count} := x[1]"])


@pytest.mark.parametrize(
    ("sheet", "scalars"),
    [
        (doubling(40), {}),
        (chain(3000), {}),
        ("y = sum(c, c)", {"d_k": 3 * 10**9}),
        ("y = sum(n, sum(m, sum(c, x[0] * n * m * c)))", {"vocab_size": 3000, "d_k": 3000}),
        ("y = x[9**9**9 % 5]", {}),
    ],
    ids=["doubling", "chain", "wide", "nested", "power"],
)
def test_formulas_that_would_take_all_time_or_memory(sheet: str, scalars: dict[str, int]) -> None:
    with pytest.raises(InputError):
        written(sheet, scalars).explain("s.y")


def test_a_formula_of_hundreds_of_parts_inside_each_other_is_not_read() -> None:
    with pytest.raises(FormulaError, match="nested too deeply"):
        Sheet.parse("y = " + " + ".join(["x[0]"] * 700))


def test_a_sheet_of_many_lines_is_read_soon() -> None:
    sheet = Sheet.parse("\n".join(f"q{one} = x[{one}]" for one in range(5000)))
    assert "q4999" in sheet
    with pytest.raises(ValueError, match="two formulas for q1"):
        Sheet.parse("q1 = x[0]\nq1 = x[1]")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"positions": (-1,)}, "count from 0"),
        ({"axes": ("Q",)}, "no letter"),
        ({"path": ""}, "no path"),
        ({"scope": "s"}, "no formula for s.x"),
    ],
)
def test_a_manifest_that_makes_no_sense(change: dict[str, Any], says: str) -> None:
    manifest = written("y = x[0]").manifest
    if "positions" in change:
        manifest = manifest.model_copy(update=change)
    else:
        values = (manifest.values[0].model_copy(update=change), *manifest.values[1:])
        manifest = manifest.model_copy(update={"values": values})
    offsets = {value.path: (value.dtype, value.shape, 0, 0) for value in manifest.values}
    opened: Any = type("Opened", (), {"offsets": offsets})
    with pytest.raises(ValueError, match=says):
        require_fit(manifest, opened)


def test_an_explanation_too_deep_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "MOST_FOLLOWED", 50)
    with pytest.raises(InputError, match="more than 50 numbers"):
        explain.follow(traced("gpt2"), "loss.loss", (), depth=12)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_neither_read_nor_replaced(kind: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir() if kind == "folder" else os.mkfifo(there)
    before = there.stat().st_mode
    with pytest.raises(InputError, match="no file"):
        Trace.load(there)
    with pytest.raises(InputError, match="can't write"):
        traced("gpt2").save(there)
    assert there.stat().st_mode == before


def test_a_link_leads_to_what_is_written(tmp_path: Path) -> None:
    link, real = tmp_path / "link", tmp_path / "real"
    link.symlink_to(real)
    real.write_text("old")
    traced("gpt2").save(link)
    assert link.is_symlink()
    assert Trace.load(real).manifest == traced("gpt2").manifest


@pytest.mark.parametrize(
    "given",
    [
        {"tokens": [2**70]}, {"tokens": [1.5, 2]}, {"tokens": [True, False]}, {"tokens": "12"},
        {"tokens": ["a"]}, {"tokens": [[1], 2]}, {"tokens": [[[1]]]}, {"tokens": 5},
        {"tokens": [1], "dtype": "int8"}, {"tokens": [1], "dtype": complex},
        {"tokens": [1], "dtype": "nope"}, {"tokens": [1, 2], "positions": [0.5]},
        {"tokens": [1, 2], "positions": [1, 1]}, {"tokens": [1, 2], "positions": []},
    ],
)  # fmt: skip
def test_what_is_not_meant_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        hand.trace(model("gpt2"), **given)


@pytest.mark.parametrize("key", [5, None, ("x", 0)])
def test_keys_that_are_no_paths(key: Any) -> None:
    trace = traced("gpt2")
    made: Any = model("gpt2")
    for mapping in (trace, made):
        assert key not in mapping
        with pytest.raises(KeyError):
            mapping[key]


@pytest.mark.parametrize("place", [("0", 0, 0, 0), (None, 0, 0, 0), (0, 0, 0, 1.5)])
def test_places_that_are_none(place: tuple[Any, ...]) -> None:
    with pytest.raises(InputError, match="whole numbers"):
        traced("gpt2").explain("blocks.0.attention.attn", *place)
