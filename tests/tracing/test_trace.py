"""A trace is found by path, by pattern, and by the names that others give."""

import gc
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file, save_file

import handformer as hand
from handformer.errors import InputError
from handformer.tracing.file import KEY
from handformer.tracing.trace import Trace
from tests.tracing.small import FAMILIES, traced


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "one.safetensors"
    traced("gpt2", "float32").save(path)
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_a_trace_comes_back_as_it_was(family: str, tmp_path: Path) -> None:
    trace = traced(family)
    trace.save(tmp_path / "one.safetensors")
    back = Trace.load(tmp_path / "one.safetensors")
    assert back.manifest == trace.manifest
    assert [*back] == [*trace]
    for path in trace:
        assert_array_equal(back[path], trace[path], err_msg=path, strict=True)
    for scope in trace.manifest.scopes:
        assert repr(back.sheet(scope.path)) == repr(trace.sheet(scope.path))
        assert back.scalars(scope.path) == trace.scalars(scope.path)


def test_the_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    made = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    for path in made:
        traced.cache_clear()
        traced("gpt2", "float32").save(path)
    one, two = (path.read_bytes() for path in made)
    assert one == two


def test_any_reader_of_safetensors_reads_it(saved: Path) -> None:
    arrays = load_file(saved)
    trace = Trace.load(saved)
    assert {*arrays} == {*trace}
    assert_array_equal(arrays["blocks.0.attention.attn"], trace["blocks.0.attention.attn"])


def test_reading_one_value_reads_no_other(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace.load(saved)
    asked: list[str] = []
    arrays: Any = trace._arrays
    real = arrays._opened.array
    monkeypatch.setattr(arrays._opened, "array", lambda name: (asked.append(name), real(name))[1])
    array = trace["blocks.1.attention.d_scores"]
    assert asked == ["blocks.1.attention.d_scores"]
    assert not array.flags.writeable
    assert not array.flags.owndata  # the file itself


def test_an_array_outlives_its_trace(saved: Path) -> None:
    array = Trace.load(saved)["blocks.0.out"]
    gc.collect()
    assert np.isfinite(array).all()


def test_paths_patterns_and_other_names() -> None:
    trace = traced("gpt2")
    assert trace.keys("*.attn") == ["blocks.0.attention.attn", "blocks.1.attention.attn"]
    assert "blocks.0.attention.attn" in trace
    assert "blocks.7.attention.attn" not in trace
    assert trace["blocks.1.attn.hook_pattern"] is trace["blocks.1.attention.attn"]
    assert trace["blocks.1.attn.hook_q_grad"] is trace["blocks.1.attention.d_q"]
    assert trace["transformer.h.0.mlp.c_fc.weight"] is trace["blocks.0.mlp.w_up"]
    assert trace["h.0.mlp.c_fc.weight"] is trace["blocks.0.mlp.w_up"]
    with pytest.raises(KeyError, match=r"unknown value blocks.0.attention.atn; did you mean"):
        trace["blocks.0.attention.atn"]


def test_spellings_stand_along_their_axes() -> None:
    writer = hand.TextModel(
        hand.Decoder.init(hand.ModelConfig(d_model=8, n_heads=2, n_layers=1, vocab_size=256)),
        hand.Tokenizer.bytes(),
    )
    trace = hand.trace(writer, ["a b", "cd"])
    said = trace.spellings("blocks.0.attention.scores")
    assert {*said} == {"t", "s"}
    assert said["t"][0] == ["a", "␣", "b"]
    assert said["t"][1][:2] == ["c", "d"]
    assert trace.manifest.vocabulary is not None
    assert trace.manifest.vocabulary[97] == "a"
    cut = hand.trace(writer, "abc", positions=[2, 0]).spellings("blocks.0.attention.scores")
    assert (cut["t"], cut["s"]) == ([["c", "a"]], [["a", "b", "c"]])
    assert traced("gpt2").spellings("blocks.0.attention.scores") == {}


def test_padding_is_spelled_by_nothing() -> None:
    writer = hand.TextModel(
        hand.Decoder.init(hand.ModelConfig(d_model=8, n_heads=2, n_layers=1, vocab_size=256)),
        hand.Tokenizer.bytes(),
    )
    trace = hand.trace(writer, ["abc", "d"])
    assert trace.spellings("x")["t"] == [["a", "b", "c"], ["d"]]
    assert trace.explain("x", 1, 2, 0).tokens == {}
    cut = hand.trace(writer, ["abc", "d"], positions=[2])
    assert cut.spellings("x")["t"] == [["c"], [""]]


def test_a_fresh_trace_cannot_be_written_to() -> None:
    made = hand.Decoder.init(hand.ModelConfig(d_model=8, n_heads=2, n_layers=1, vocab_size=9))
    trace = hand.trace(made, tokens=[1, 2])
    assert not any(array.flags.writeable for array in trace.values())
    assert made.embedding.table.flags.writeable


def test_it_tells_what_it_is() -> None:
    assert repr(traced("llama", "float32")).startswith("Trace of llama (Decoder, float32): 1")


def rewritten(path: Path, change: Any) -> Path:
    """The file with another manifest."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    manifest = json.loads(header["__metadata__"][KEY])
    change(manifest)
    save_file(load_file(path), path, metadata={KEY: json.dumps(manifest)})
    return path


def _set(*keys: Any, value: Any) -> Any:
    def change(manifest: Any) -> None:
        *before, last = keys
        for key in before:
            manifest = manifest[key]
        manifest[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set("format", value=2), "format: Input should be 1"),
        (_set("odd", value=1), "odd: Extra inputs are not permitted"),
        (_set("sheets", 0, value="x[b = 1"), "sheet 0"),
        (_set("scopes", 0, "sheet", value=99), "has no sheet 99"),
        (_set("scopes", 0, "sheet", value=-1), "has no sheet -1"),
        (_set("values", 0, "path", value="odd"), "in the file or in the manifest, not in both"),
        (_set("values", 0, "shape", value=[1, 2]), "of another type or shape"),
        (_set("values", 0, "axes", value=["b"]), "axes, 1 letters"),
        (_set("values", 0, "scope", value="nowhere"), "no scope 'nowhere'"),
        (_set("values", 0, "kind", value="odd"), "values.0.kind: Input should be 'weight'"),
        (_set("values", 0, "dtype", value="float64"), "of another type or shape"),
    ],
)
def test_a_wrong_manifest_is_named(saved: Path, change: Any, says: str) -> None:
    with pytest.raises(InputError) as error:
        Trace.load(rewritten(saved, change))
    assert says in str(error.value)
    assert str(saved) in str(error.value)


def test_what_is_no_trace_is_named(tmp_path: Path, saved: Path) -> None:
    plain, text = tmp_path / "plain.safetensors", tmp_path / "text"
    save_file({"x": np.zeros(2)}, plain)
    text.write_text("no")
    empty = tmp_path / "empty"
    empty.touch()
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(saved.read_bytes()[:-5])
    for path, says in (
        (tmp_path / "none", "can't read the trace"), (plain, "no trace"), (tmp_path, "no file"),
        (text, "not a safetensors file"), (empty, "not a safetensors file"),
        (cut, "not a safetensors file"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=says):
            Trace.load(path)


def test_a_refused_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't write"):
        traced("gpt2").save(tmp_path / "no" / "one.safetensors")
    assert not [*tmp_path.iterdir()]


def test_a_file_belongs_to_whom_others_do(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "one.safetensors"
    other.touch()
    traced("gpt2").save(path)
    assert os.stat(path).st_mode == os.stat(other).st_mode
