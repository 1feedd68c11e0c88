"""A contestant in a process of its own: its threads and its memory are nobody else's."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from handformer.errors import InputError

_HERE = Path(__file__).parent
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Contestant:
    """What to run: a file below `contestants` or `peers`, and what its `begin` is given."""

    name: str
    file: str
    settings: dict[str, Any] = field(default_factory=dict)
    python: str = sys.executable

    @property
    def ours(self) -> bool:
        """Whether it is a part of the package, which can't be absent."""
        return self.file.startswith("contestants/")


@dataclass(frozen=True)
class Round:
    """The seconds of each piece of work, the peak of the memory in bytes, and what else is told."""

    times: list[float]
    peak: int
    told: dict[str, Any]


class GoneError(InputError):
    """A contestant that can't go on, and why. `absent`: a library that it needs isn't there."""

    def __init__(self, reason: str, *, absent: bool = False) -> None:
        """One line."""
        super().__init__(reason)
        self.absent = absent


class Running:
    """A contestant at work. It only works while somebody waits for a round of its."""

    def __init__(self, contestant: Contestant, threads: int) -> None:
        """Start it; `ready` waits until it has begun.

        Raises
        ------
        GoneError
            where there is no such Python
        """
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        own = {name: str(threads) for name in _THREADS} | {"HF_HUB_OFFLINE": "1"}
        settings = json.dumps(contestant.settings | {"threads": threads})
        try:
            self._process = subprocess.Popen(
                [contestant.python, "-P", str(_HERE / "serve.py"), str(_HERE / contestant.file),
                 settings],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                encoding="utf-8", env=os.environ | own,
            )  # fmt: skip
        except OSError as error:
            self._errors.close()
            raise GoneError(f"{contestant.python}: {error.strerror}") from None

    def ready(self) -> dict[str, Any]:
        """Wait until it is ready: what it says of itself.

        Raises
        ------
        GoneError
            where it can't begin
        """
        facts = self._answer()
        if "absent" in facts:
            raise GoneError(f"{facts['absent']} isn't installed", absent=True)
        return facts

    def work(self, seconds: float) -> Round:
        """Let it work for about so many seconds, at least once.

        Raises
        ------
        GoneError
            where it breaks down
        """
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # why it has gone is said below
            self._process.stdin.write(f"{seconds}\n")
            self._process.stdin.flush()
        answer = self._answer()
        return Round(answer.pop("times"), answer.pop("peak"), answer)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(BrokenPipeError), self._process:
            pass  # closes the pipes, one of which may hold what nobody will read, and waits
        self._errors.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """End the process."""
        self.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        killed = f"ended by signal {-code}" if code < 0 else ""
        raise GoneError(killed or last or f"ended with exit code {code}")
