"""`handformer trace`: one file of everything, and what is said of wrong options."""

import json
from pathlib import Path

import numpy as np
import pytest

import handformer as hand
from handformer import tree
from tests.cli.typed import Said, typed
from tests.train import small

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each kind, which tests only read."""
    folder = tmp_path_factory.mktemp("runs")
    for kind in ("gpt2", "bert", "transformer"):
        small.begin(folder / kind, kind, steps=2).go()
    return folder


def trace(capsys: Capsys, folder: Path, out: Path, *words: object) -> Said:
    return typed(capsys, "trace", folder, "--out", out, *words)


@pytest.mark.parametrize("kind", ["gpt2", "bert", "transformer"])
def test_it_writes_what_the_library_makes(
    kind: str, runs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out, text = tmp_path / "one.safetensors", "abc" if kind == "transformer" else "The"
    said = trace(capsys, runs / kind, out, "--text", text, "--plain")
    assert (said.code, said.err) == (0, "")
    made, written = hand.trace(runs / kind, text), hand.Trace.load(out)
    assert written.manifest == made.manifest
    assert written.manifest.name == kind
    for path in made:
        assert (written[path] == made[path]).all(), path
    assert f"loss {made.loss:.4f}" in said.out
    assert f"handformer inspect {out}" in said.out


def test_its_next_command_explains_a_number(runs: Path, tmp_path: Path, capsys: Capsys) -> None:
    said = trace(capsys, runs / "gpt2", tmp_path / "one.safetensors", "--text", "The")
    (line,) = (line for line in said.out.splitlines() if line.startswith("handformer explain"))
    explained = typed(capsys, *line.split()[1:])
    assert (explained.code, explained.err) == (0, "")
    assert "scores[0,0,0,0]" in explained.out


def test_tokens_targets_and_lines(runs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out, lines = tmp_path / "one.safetensors", tmp_path / "lines"
    trace(capsys, runs / "gpt2", out, "--tokens", "5,3,8", "--targets", "3,8,5")
    assert hand.Trace.load(out)["loss.targets"].tolist() == [[3, 8, 5]]
    lines.write_text("The\n\na\n")
    trace(capsys, runs / "gpt2", out, "--batch", lines)
    assert hand.Trace.load(out)["tokens"].shape == (2, 3)
    trace(capsys, runs / "gpt2", out, "--text", "The", "--text", "a", "--dtype", "float64")
    both = hand.Trace.load(out)
    assert both["tokens"].shape == (2, 3)
    assert both.manifest.dtype == "float64"


def test_it_keeps_what_was_asked_for(runs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "one.safetensors"
    words = ("--only", "blocks.0.*", "--positions", "0,2:4", "--no-weights")
    trace(capsys, runs / "gpt2", out, "--text", "The end", *words)
    kept = hand.Trace.load(out)
    assert kept.manifest.positions == (0, 2, 3)
    assert kept["blocks.0.attention.attn"].shape[2:] == (3, 7)
    assert "blocks.0.attention.w_q" not in kept


def test_an_example_is_a_trace_too(tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "one.safetensors"
    said = typed(capsys, "trace", "--example", "identity", "--out", out)
    assert (said.code, said.err) == (0, "")
    assert hand.Trace.load(out)["attn"].round(4).tolist() == [[0.6698, 0.3302], [0.3302, 0.6698]]


@pytest.mark.parametrize("kind", ["gpt2", "bert", "transformer"])
def test_a_case_holds_all_that_a_check_needs(
    kind: str, runs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    file, text = tmp_path / "case.safetensors", "abc" if kind == "transformer" else "The"
    said = typed(capsys, "trace", runs / kind, "--text", text, "--case", file)
    assert (said.code, said.err) == (0, "")
    assert f"handformer check THEIRS --against {file}" in said.out
    written, weights = hand.Trace.load(file), tree.flatten(hand.load(runs / kind).model)
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}
    for path, array in weights.items():
        np.testing.assert_array_equal(written[path], array, strict=True)
    for value in written.manifest.values:
        assert value.kept, value.path
        outside = value.kind in ("weight", "input")
        assert (value.scope is None) == outside, value.path
        assert outside or value.dtype in ("float64", "int64", "bool"), value.path
    made = hand.trace(runs / kind, text, dtype="float64")
    assert [p for p in made if not p.startswith("lens.")] == [*written]
    np.testing.assert_array_equal(written["loss.loss"], made["loss.loss"])


def test_an_example_is_a_case_too(tmp_path: Path, capsys: Capsys) -> None:
    file = tmp_path / "case.safetensors"
    said = typed(capsys, "trace", "--example", "identity", "--case", file)
    assert (said.code, said.err) == (0, "")
    assert hand.Trace.load(file).entry("scores").scope == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--only", "*.attn"), "leave out --only"),
        (("--positions", "0"), "leave out --only, --positions"),
        (("--no-weights",), "leave out --only, --positions, --no-weights"),
        (("--dtype", "float32"), "--dtype float32: a case is computed in float64"),
        (("--out", "other.safetensors"), "give --case or --out"),
    ],
)
def test_a_case_is_whole(
    words: tuple[str, ...], says: str, runs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    file = tmp_path / "case.safetensors"
    said = typed(capsys, "trace", runs / "gpt2", "--text", "The", "--case", file, *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert says in said.err
    assert not file.exists()


def test_for_programs(runs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "one.safetensors"
    told = json.loads(trace(capsys, runs / "gpt2", out, "--text", "The", "--json").out)
    assert told["written"] == [str(out)]
    assert told["values"][0]["path"] == "embedding.table"


def test_a_page_and_a_picture(runs: Path, tmp_path: Path, capsys: Capsys) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "attn.svg"
    words = ("--text", "The", "--html", page, "--figure", picture)
    said = typed(capsys, "trace", runs / "gpt2", *words)
    assert (said.code, said.err) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "attn.svg"}
    assert page.read_text().startswith("<!doctype html>")
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing to read"),
        (("--text", "a", "--tokens", "1"), "give one of"),
        (("--tokens", "1,x"), "expected token ids"),
        (("--tokens", "999"), "tokens hold 999"),
        (("--tokens", ""), "no tokens"),
        (("--text", "a", "--dtype", "float16"), "expected float32 or float64"),
        (("--text", "a", "--only", "odd.*"), "no value fits 'odd.*'"),
        (("--text", "a", "--positions", "x"), "expected places as in 0,3 or 4:8"),
        (("--text", "a", "--positions", "-1"), "expected places from 0 on"),
        (("--text", "a", "--positions", "5"), "position 5 isn't one of the 1 tokens"),
        (("--text", "a", "--figure-of", "x"), "name its file with --figure"),
        (("--batch", "nowhere"), "nowhere: can't read"),
        (("--example", "identity"), "give no model and no text"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: tuple[str, ...], says: str, runs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    said = trace(capsys, runs / "gpt2", tmp_path / "one.safetensors", *words)
    assert (said.code, said.out) == (2, "")
    assert says in said.err
    assert said.err.count("\n") == 1
    assert not [*tmp_path.iterdir()]


def test_no_model_is_one_line(tmp_path: Path, capsys: Capsys) -> None:
    for words, says in (((), "no model"), ((tmp_path / "no",), "no such folder")):
        said = typed(capsys, "trace", *words, "--text", "a")
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert says in said.err
