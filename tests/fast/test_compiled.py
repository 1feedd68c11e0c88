"""Machine code on disk only saves time: without it, or with what is left of it, all works."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handformer.fast import compiled

PROGRAM = """
import numpy as np
from handformer import fast
x = np.array([[-1.0, 2.0]], dtype=np.float32)
assert fast.relu.forward(x).tolist() == [[0.0, 2.0]]
print(fast.relu._forward.stats.cache_hits and sum(fast.relu._forward.stats.cache_hits.values()))
"""


def ran(folder: Path | str) -> str:
    """What the program prints: how often it found machine code in the folder."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().replace("Counter()", "0")


def cut(size: int) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [cut(0), cut(50), lambda path: path.write_bytes(b"x" * 500)])
def test_damaged_machine_code_is_made_again(
    tmp_path: Path, ending: str, damage: Callable[[Path], None]
) -> None:
    assert ran(tmp_path) == "0"
    assert ran(tmp_path) == "1"
    for path in tmp_path.rglob(f"*.{ending}"):
        damage(path)
    assert ran(tmp_path) == "0"
    assert ran(tmp_path) == "1"


def test_where_nothing_can_be_kept_it_is_done_without() -> None:
    asked, before = [], compiled.config.CACHE_DIR

    def make(kept: bool) -> str:
        asked.append(kept)
        if kept:
            raise RuntimeError("no locator available")
        return "a kernel"

    assert compiled.with_cache(make) == "a kernel"
    assert asked == [True, False]
    assert before == compiled.config.CACHE_DIR
