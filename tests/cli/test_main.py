"""The program itself: help, version, and what is no command."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handformer import __version__
from handformer.cli import one_line
from handformer.errors import InputError
from tests.cli.typed import ended, started, typed

Capsys = pytest.CaptureFixture[str]


def test_alone_it_shows_its_help(capsys: Capsys) -> None:
    said = typed(capsys)
    assert (said.code, said.err) == (0, "")
    assert said.out == typed(capsys, "--help").out
    assert said.out.startswith("Usage: handformer [OPTIONS] COMMAND [ARGS]...\n")
    for command in ("train", "generate", "example", "check", "ledger", "bench", "selfcheck"):
        assert f"\n  {command} " in said.out


@pytest.mark.parametrize(
    "command", ["", "train", "generate", "example", "check", "ledger", "bench", "selfcheck"]
)
def test_help_fits_into_eighty_columns(
    command: str, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = typed(capsys, *command.split(), "--help")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    assert "..." not in said.out.replace("]...", "").replace("train.lr=...", "")  # nothing is cut


def test_the_version(capsys: Capsys) -> None:
    assert typed(capsys, "--version") == (0, f"handformer {__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("teach", "teach"),
        ("--verbose", "--verbose"),
        ("train --lr 3", "--lr"),
        ("train --data", "--data"),
        ("train extra", "extra"),
        ("generate", "model"),
        ("generate run --seed x", "--seed"),
        ("generate run --temperature warm", "--temperature"),
    ],
)
def test_what_cannot_be_asked_is_one_line(words: str, named: str, capsys: Capsys) -> None:
    said = typed(capsys, *words.split())
    assert named in said.complaint().lower()
    assert said.complaint().endswith(" (see --help)")
    assert said.out == ""


def raising(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return one_line(command)


def test_errors_of_users_and_of_machines_are_one_line_and_ours_are_not(capsys: Capsys) -> None:
    for error, code, line in (
        (InputError("two\nlines"), 2, "two lines"),
        (OSError(28, "No space left on device", "x"), 2, "[Errno 28] No space left on device: 'x'"),
        (MemoryError("7 TiB"), 2, "out of memory: 7 TiB; take a smaller model or batch"),
        (KeyboardInterrupt(), 130, "stopped"),
    ):
        assert raising(error)() == code
        assert capsys.readouterr().err == f"handformer: {line}\n"
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError())()


def test_a_reader_that_never_came_is_no_accident(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        said = ended(started("train", "--show-config", folder=tmp_path, stdout=write))
    finally:
        os.close(write)
    assert (said.code, said.err) == (141, "")


def test_the_module_runs_too(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "handformer", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == f"handformer {__version__}\n"
