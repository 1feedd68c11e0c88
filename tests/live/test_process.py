"""The process that others crash: how its death is told, and that nothing of it is left."""

import subprocess
import sys
from typing import Any

import pytest

from handformer.live import process
from handformer.live.process import BrokenError, Child, ended


@pytest.mark.skipif(sys.platform != "linux", reason="numbers of signals are Linux's")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (-11, "crashed: SIGSEGV (Segmentation fault)"),
        (-35, "crashed: signal 35 (Real-time signal 1)"),  # has no name in Python
    ],
)
def test_every_signal_has_its_line(code: int, said: str) -> None:
    assert ended(code, b"") == said


def test_of_a_process_that_dies_while_it_loads_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []

    def popen(_: Any, **options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "import sys; sys.exit('not today')"]
        started.append(subprocess.Popen(command, **options))
        return started[-1]

    monkeypatch.setattr(process, "subprocess", _With(popen))
    with pytest.raises(BrokenError, match="ended with exit code 1: not today"):
        Child("function", "a:b", "forward", timeout=30)
    (child,) = started
    assert child.stdin.closed
    assert child.stdout.closed
    assert child.returncode == 1


class _With:
    PIPE = subprocess.PIPE

    def __init__(self, popen: Any) -> None:
        self.Popen = popen
