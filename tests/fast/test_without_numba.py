"""Where Numba isn't installed, everything is plain, works, and says so."""

import subprocess
import sys
from pathlib import Path

from tests.train import small

BLOCKED = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None  # an import of them fails
from handformer import fast, ops
assert not fast.AVAILABLE
assert all(getattr(fast, name) is getattr(ops, name) for name in ops.__all__)
from handformer.cli import main
main(sys.argv[1:])
"""


def started(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", BLOCKED, *arguments], capture_output=True, text=True, check=False
    )


def test_training_and_writing_work_without_it(tmp_path: Path) -> None:
    text, run = small.data(tmp_path, "gpt2"), tmp_path / "run"
    settings = ("model.d_model=16", "model.n_heads=2", "model.context=8", "train.steps=2")
    options = [part for setting in settings for part in ("--set", setting)]
    done = started("train", "--data", str(text), "--out", str(run), *options)
    assert done.returncode == 0, done.stderr
    assert "Numba isn't installed: plain operations" in done.stdout + done.stderr
    written = started("generate", str(run), "--prompt", "The ", "--max-tokens", "3")
    assert written.returncode == 0, written.stderr
    assert written.stdout.startswith("The ")
