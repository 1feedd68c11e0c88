"""Commands as a user types them: in this process where that will do, else in one of their own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from handformer.cli import main
from tests.train import small

SMALL = tuple(
    word
    for key, value in {
        "model.context": 8, "model.n_layers": 1, "model.n_heads": 2, "model.d_model": 16,
        "train.steps": 4, "train.batch": 2, "train.eval_sequences": 2,
        "data.tokenizer": "characters",
    }.items()
    for word in ("--set", f"{key}={value}")
)  # fmt: skip


class Said(NamedTuple):
    """What a command answered."""

    code: object
    out: str
    err: str

    def complaint(self, code: int = 2) -> str:
        """The one line of a command that only complained, without the program's name."""
        assert self.code == code, self
        (line,) = self.err.splitlines()
        assert line.startswith("handformer: "), line
        return line.removeprefix("handformer: ")


def typed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Said:
    """`handformer` and these words, in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    said = capsys.readouterr()
    return Said(caught.value.code, said.out, said.err)


def started(*words: str | Path, folder: Path, **options: int) -> subprocess.Popen[str]:
    """The same in a process of its own, with one thread, whose answers can be read."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONUNBUFFERED", None)  # as users have it
    pipes: dict[str, int] = {
        "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "handformer", *words],
        cwd=folder, env=environment, encoding="utf-8", **(pipes | options),
    )  # type: ignore[call-overload, no-any-return]  # fmt: skip


def ended(process: subprocess.Popen[str], text: str | None = None, seconds: float = 120) -> Said:
    """Wait until a process has ended: what it answered."""
    try:
        out, err = process.communicate(text, timeout=seconds)
    finally:
        process.kill()
    return Said(process.returncode, out, err)


def trained(capsys: pytest.CaptureFixture[str], folder: Path, kind: str = "gpt2") -> Path:
    """The folder of a small run that has ended."""
    path = small.data(folder, kind)
    options: Sequence[str] = ("--set", f"model.family={kind}")
    if kind == "transformer":
        options = ("--preset", "pairs")
    said = typed(capsys, "train", "--data", path, "--out", folder / "run", *options, *SMALL)
    assert said.code == 0, said
    return folder / "run"
