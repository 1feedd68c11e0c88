"""The README's story from start to finish: attention in Rust, its mistake, the answer, the cure."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import handformer as hand
from tests.test_readme import README, ROOT, shown_in

BLOCKS = runpy.run_path(str(ROOT / "tools" / "readme.py"))["blocks"](README)
PROGRAM = Path("examples/exchange/rust/single_head.rs")
MENDED = (ROOT / PROGRAM).read_text(encoding="utf-8")


def only(language: str) -> str:
    (text,) = (block.text for block in BLOCKS if block.language == language)
    return text


def changed() -> tuple[str, str]:
    """The line with the mistake, and the line without it."""
    wrong, right = only("diff").splitlines()
    return "    " + wrong.removeprefix("-").strip(), "    " + right.removeprefix("+").strip()


def sessions() -> list[list[tuple[str, str]]]:
    """The blocks with several commands: each command, and what is shown of its output."""
    texts = [b.text for b in BLOCKS if b.language == "console" and "\n$ " in b.text]
    return [
        [(line, shown) for line, _, shown in (part.partition("\n") for part in parts)]
        for parts in (re.split(r"^\$ ", text, flags=re.MULTILINE)[1:] for text in texts)
    ]


def typed(line: str, folder: Path) -> tuple[int, str]:
    """A line as a shell takes it: its exit code, and what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, encoding="utf-8",
        check=False,
    )  # fmt: skip
    assert done.stderr == "", f"{line}\n{done.stderr}"
    return done.returncode, done.stdout


def timeless(text: str) -> str:
    return re.sub(r"\d+\.\d s\.$", "0.0 s.", text, flags=re.MULTILINE)


def test_the_page_shows_the_lines_of_the_program() -> None:
    wrong, right = changed()
    assert wrong != right
    assert MENDED.count(right) == 1
    assert only("rust") in MENDED.replace(right, wrong)


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")
def test_the_mistake_is_named_and_mended_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    wrong, right = changed()
    codes = []
    for program, session in zip((MENDED.replace(right, wrong), MENDED), sessions(), strict=True):
        (tmp_path / PROGRAM).write_text(program, encoding="utf-8")
        for line, shown in session:
            code, printed = typed(line, tmp_path)
            assert shown_in(timeless(shown), timeless(printed)), f"{line} prints\n{printed}"
            codes.append(code)
            if code == 1:
                report = hand.check(tmp_path / "dump.safetensors", tmp_path / "case.safetensors")
                assert report.first is not None
                assert (report.first.path, report.first.causes[0].id) == ("scores", "SCALE-1")
                assert timeless(f"{report}\n") == timeless(printed)
                assert (
                    repr(report) == "Report of dump.safetensors against case.safetensors: not fine"
                )
    assert codes == [0, 0, 0, 1, 0, 0, 0]
