"""`handformer check` as it is typed: the answer, its forms, exit codes, and watching."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from handformer.checking.api import check
from handformer.cli import check_watch
from handformer.cli.check_watch import changes
from handformer.errors import InputError
from handformer.tracing.trace import Trace
from tests.cli.typed import ended, started, typed

Capsys = pytest.CaptureFixture[str]
ATTN = "attn"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a small case."""
    from handformer.checking.cases import build

    path = tmp_path_factory.mktemp("case") / "case.safetensors"
    build("softmax").save(path)
    return path


def dump(case: Path, path: Path, change: Callable[[np.ndarray], np.ndarray] | None = None) -> Path:
    """What somebody computed, in float32: all right, or one value changed."""
    trace = Trace.load(case)
    computed = {"value", "gradient", "weight_gradient"}
    paths = [value.path for value in trace.manifest.values if value.kind in computed]
    arrays = {name: trace[name].astype(np.float32) for name in paths}
    if change is not None:
        arrays[paths[0]] = change(arrays[paths[0]])
    np.savez(path, **arrays)
    return path


def test_a_right_dump_is_fine(case: Path, tmp_path: Path, capsys: Capsys) -> None:
    said = typed(capsys, "check", dump(case, tmp_path / "dump.npz"), "--against", case)
    assert (said.code, said.err) == (0, "")
    assert "dump.npz against case.safetensors" in said.out
    assert said.out.splitlines()[-1].startswith("Fine: ")
    assert "\x1b" not in said.out


def test_a_wrong_one_is_told_in_every_form(case: Path, tmp_path: Path, capsys: Capsys) -> None:
    wrong = dump(case, tmp_path / "dump.npz", lambda right: right * 2)
    junit, html = tmp_path / "check.xml", tmp_path / "check.html"
    files = ("--junit", junit, "--html", html)
    said = typed(capsys, "check", wrong, "--against", case, *files)
    assert (said.code, said.err) == (1, "")
    told = typed(capsys, "check", wrong, "--against", case, "--json")
    assert (told.code, told.err) == (1, "")
    report = json.loads(told.out)
    assert report["case"] == "case.safetensors"
    assert said.out.startswith(report["first"])
    failures = Xml.parse(junit).findall("testsuite/testcase/failure")
    assert len(failures) == sum(report["counts"][name] for name in ("wrong", "layout"))
    page = html.read_bytes()
    assert page.startswith(b"<!doctype html>")
    assert report["first"].encode() in page


def test_a_ready_made_case_goes_by_its_name(case: Path, tmp_path: Path, capsys: Capsys) -> None:
    said = typed(capsys, "check", dump(case, tmp_path / "d.npz"), "--against", "softmax")
    assert said.code == 0
    assert "d.npz against softmax" in said.out
    unknown = typed(capsys, "check", tmp_path / "d.npz", "--against", "sofmax").complaint()
    assert unknown == (
        "unknown case sofmax; did you mean softmax?; `handformer check --list` names all"
    )


def test_a_folder_does_not_hide_a_ready_made_case(
    case: Path, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "softmax").mkdir()
    said = typed(capsys, "check", dump(case, tmp_path / "d.npz"), "--against", "softmax")
    assert said.code == 0
    with pytest.raises(InputError, match="unknown case sofmax; did you mean softmax"):
        check({}, against="sofmax")


def test_the_ready_made_cases_are_listed(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = typed(capsys, "check", "--list")
    assert said.code == 0
    lines = said.out.splitlines()
    assert [line for line in lines if line.startswith("gpt2-tiny ")]
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "handformer check THEIRS --against NAME"
    names = [row["name"] for row in json.loads(typed(capsys, "check", "--list", "--json").out)]
    assert [name for name in names if f"\n{name} " not in f"\n{said.out}"] == []


def test_a_ready_made_case_is_written_for_programs_to_read(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "mine.safetensors"
    said = typed(capsys, "check", "--write", "softmax", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1] == f"handformer check THEIRS --against {path}"
    assert Trace.load(path).manifest.name == "softmax"
    told = json.loads(typed(capsys, "check", "--write", "softmax", path, "--json").out)
    assert told == {"name": "softmax", "written": str(path), "nbytes": path.stat().st_size}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("check --write sofmax FILE", "did you mean softmax?"),
        ("check --write softmax FOLDER", "FOLDER: can't write"),
        ("check none.npz --against CASE", "none.npz"),
        ("check DUMP --against none.safetensors", "none.safetensors"),
        ("check DUMP --against CASE --names none.toml", "none.toml"),
        ("check DUMP --against CASE --junit FOLDER", "it is there, and no file"),
        ("check DUMP --against CASE --junit x --html x", "a file each"),
        ("check DUMP --against DUMP", "DUMP"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    words: str, named: str, case: Path, tmp_path: Path, capsys: Capsys
) -> None:
    folder = tmp_path / "FOLDER"
    folder.mkdir()
    places = {"DUMP": dump(case, tmp_path / "DUMP.npz"), "CASE": case, "FOLDER": folder}
    said = typed(capsys, *(places.get(word, word) for word in words.split()))
    assert named in said.complaint()
    assert said.out == ""


def test_a_file_is_seen_to_change_when_it_is_quiet_again(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    seen = changes([folder, tmp_path / "names.toml"], period=0.001)
    next(seen)  # at first
    (folder / "q.npy").write_bytes(b"1")
    next(seen)
    (folder / "q.npy").write_bytes(b"22")
    next(seen)
    (tmp_path / "names.toml").write_text("")
    next(seen)
    (folder / "q.npy").unlink()
    next(seen)


def test_it_waits_for_a_change_and_then_until_nobody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dump.npz"
    path.write_text("before")
    script = ["", "", "", "a", "ab", "abc", ""]  # what is written while it sleeps

    def sleep(_: float) -> None:
        if text := script.pop(0):
            path.write_text(text)

    monkeypatch.setattr(check_watch.time, "sleep", sleep)
    seen = changes([path])
    next(seen)
    assert len(script) == 6  # the first time there is nothing to wait for but quiet
    next(seen)
    assert script == []
    assert path.read_text() == "abc"


def test_watching_answers_again_and_ends_with_the_last_answer(case: Path, tmp_path: Path) -> None:
    path = tmp_path / "dump.npz"
    process = started("check", str(path), "--against", str(case), "--watch", folder=tmp_path)
    try:
        assert process.stderr is not None
        assert "dump.npz" in process.stderr.readline()  # it isn't there yet
        assert process.stderr.readline() == f"watching {path} (Ctrl-C ends)\n"
        whole = dump(case, tmp_path / "whole.npz", lambda right: right * 2).read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        assert str(path) in process.stderr.readline()  # half of it can't be read
        assert process.stderr.readline().startswith("watching")
        path.write_bytes(whole)
        assert process.stderr.readline().startswith("watching")
        dump(case, path)
        assert process.stderr.readline().startswith("watching")
        process.send_signal(signal.SIGINT)
    finally:
        said = ended(process)
    assert (said.code, said.err) == (0, "")
    first, _, second = said.out.partition("Not fine: ")
    assert first
    assert "\nFine: " in second


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_that_wants_no_colours_gets_none(case: Path, tmp_path: Path) -> None:
    import pty

    def shown(**environment: str) -> bytes:
        ours, theirs = pty.openpty()
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            words = ("check", str(dump(case, tmp_path / "d.npz")), "--against", str(case))
            process = started(*words, folder=tmp_path, stdout=theirs)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        os.close(theirs)
        text = b""
        while True:
            try:
                more = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            text += more
        os.close(ours)
        assert ended(process).code == 0
        return text

    assert b"\x1b[" in shown(TERM="xterm-256color", NO_COLOR="")
    assert b"\x1b" not in shown(TERM="xterm-256color", NO_COLOR="1")
