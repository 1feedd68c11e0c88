"""The other end of the child: it is started, asked, and its death is put into words."""

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from handformer.errors import InputError
from handformer.live.wire import receive, send

AnyArray = NDArray[Any]


class BrokenError(Exception):
    """It can't be asked any further: it crashed, hung, or refused. One line that says which."""


def ended(code: int, said: bytes) -> str:
    """How a process ended, and the last line that it wrote."""
    if code < 0:
        known = {one.value: one.name for one in signal.Signals}  # of real-time ones not all
        return f"crashed: {known.get(-code, f'signal {-code}')} ({signal.strsignal(-code)})"
    lines = [line.strip() for line in said.decode(errors="replace").split("\n")]
    last = next((line for line in reversed(lines) if line), "")
    return f"ended with exit code {code}" + (f": {last}" if last else "")


class Child:
    """A process of its own, in which a library or a function of theirs runs."""

    def __init__(self, kind: str, target: str, what: str, *, timeout: float) -> None:
        """Start it, and wait until theirs is loaded.

        Raises
        ------
        InputError
            where there is nothing to load
        BrokenError
            where loading it crashes or hangs
        """
        self.timeout = timeout
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "handformer.live.child", kind, target, what],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
        )  # fmt: skip
        try:
            told, _ = self._within(None)
        except BaseException:
            self.close()
            raise
        if "absent" in told:
            self.close()
            raise InputError(told["absent"])

    def ask(
        self, told: Mapping[str, Any], arrays: Mapping[str, AnyArray]
    ) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """One call and its answer.

        Raises
        ------
        BrokenError
            where it crashes, or takes longer than the timeout
        """
        return self._within((told, arrays))

    def _within(self, message: Any) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(self.timeout, end)
        timer.start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if message is not None:
                send(self._process.stdin, *message)  # type: ignore[arg-type]
            return receive(self._process.stdout)  # type: ignore[arg-type]
        except (EOFError, BrokenPipeError):
            self._process.wait()
            raise BrokenError(self._death(late=late.is_set())) from None
        finally:
            timer.cancel()

    def _death(self, *, late: bool) -> str:
        if late:
            return f"gave no answer within {self.timeout:g} s"
        self._said.seek(0)
        return ended(self._process.returncode, self._said.read())

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._process.kill()
        self._process.wait()
        self._said.close()
