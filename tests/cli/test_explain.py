"""`handformer explain`, as a user types it."""

import json
from pathlib import Path

import pytest

from handformer.tracing.explain import explain
from tests.cli.typed import typed
from tests.tracing.small import traced

SCORES = "blocks.0.attention.scores"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "t.safetensors"
    traced("gpt2").save(path)
    return path


def test_an_entry_is_unfolded(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    said = typed(capsys, "explain", file, SCORES, "0", "1", "3", "2")
    assert (said.code, said.err) == (0, "")
    assert said.out == repr(explain(traced("gpt2"), SCORES, (0, 1, 3, 2))) + "\n"
    with_commas = typed(capsys, "explain", file, SCORES, "0,1,3,2")
    assert with_commas == said
    assert typed(capsys, "explain", file, SCORES, "0,1, 3", "2") == said
    loss = typed(capsys, "explain", file, "loss.loss")
    assert loss.out.startswith("loss.loss\n")


def test_forms_terms_and_depth(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    words = ("explain", file, SCORES, "0,1,3,2", "--terms", "2")
    told = typed(capsys, *words, "--json")
    assert told == typed(capsys, *words, "--format", "json")
    read = json.loads(told.out)
    right = explain(traced("gpt2"), SCORES, (0, 1, 3, 2), terms=2)
    assert read == json.loads(json.dumps(right.as_json()))
    deep = json.loads(typed(capsys, *words, "--json", "--depth", "1").out)
    assert [one["path"] for one in deep["below"]] == [one.path for one in right.parents]
    starts = {"markdown": "## `", "latex": r"\documentclass", "html": "<!doctype html>"}
    for form, start in starts.items():
        assert typed(capsys, *words, "--format", form).out.startswith(start)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scoers", "0"), "unknown value scoers"),
        ((SCORES, "0", "1"), "was given 2 indices: expected 4 for [b,h,t,s]"),
        ((SCORES, "-1", "0", "0", "0"), "index '-1': expected a whole number, counted from 0"),
        ((SCORES, "0,-1,0,0"), "index '-1': expected a whole number, counted from 0"),
        ((SCORES, "0", "1.5", "0", "0"), "index '1.5': expected a whole number"),
        ((SCORES, "0", "0", "0", "99"), "s = 99 isn't there: expected 0 to 4"),
        ((SCORES, "0,0,0,0", "--tems", "2"), "no such option: --tems (see --help)"),
        ((SCORES, "0,0,0,0", "--terms", "0"), "Invalid value for '--terms'"),
    ],
)
def test_a_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str], file: Path, words: tuple[str, ...], said: str
) -> None:
    assert said in typed(capsys, "explain", file, *words).complaint()


def test_no_trace_is_one_line_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "nothing" in typed(capsys, "explain", tmp_path / "nothing", SCORES, "0").complaint()
    other = tmp_path / "other.safetensors"
    other.write_bytes(b"no trace at all")
    assert "other.safetensors" in typed(capsys, "explain", other, SCORES, "0").complaint()
