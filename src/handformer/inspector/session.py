"""What one server shows: traces that were given, and, of a model, those it makes when asked.

Made traces lie in a folder of their own, which is gone when the session is closed. Few are kept:
when there are too many, the oldest goes. Reading doesn't wait for what is being computed.
"""

import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from handformer.errors import InputError
from handformer.generate.sampling import Sampling
from handformer.generate.text import TextModel
from handformer.inspector.data import document, to_json
from handformer.inspector.writing import Writing
from handformer.models import Encoder
from handformer.tracing.api import trace
from handformer.tracing.trace import Trace

Kind = Literal["trace", "model", "run"]
TRACES, WRITINGS = 8, 8  # made in one session and kept at a time
BYTES = 4 << 30  # of the traces that are made; the last one is kept however large it is
_TITLE = 80  # characters of a text


class GoneError(LookupError):
    """What was asked for isn't there, or no longer."""


@dataclass(frozen=True)
class Shown:
    """A trace that is shown: a file, which has to stay as it is, and what the page gets of it."""

    number: str
    title: str
    path: Path
    trace: Trace
    document: bytes
    state: tuple[int, int, int]

    @classmethod
    def open(cls, number: str, title: str, path: Path) -> "Shown":
        """Open a trace file; InputError where it is none."""
        trace = Trace.load(path)
        told = to_json(document(trace, path, number=number, title=title))
        return cls(number, title, path, trace, told, _state(path))

    def check(self) -> None:
        """The places of the values hold for the file that was opened, and for no other."""
        try:
            same = _state(self.path) == self.state
        except FileNotFoundError:
            raise GoneError(f"{self.path.name} is no longer there") from None
        if not same:
            raise GoneError(f"{self.path.name} has changed since it was opened: inspect it anew")


class Session:
    """All that the page can ask for."""

    def __init__(
        self,
        kind: Kind,
        title: str,
        *,
        model: TextModel | None = None,
        log: Callable[[], Any] | None = None,
    ) -> None:
        """Nothing is shown yet; `model` can run texts, and `log` reads what a run wrote down."""
        self.kind, self.title, self.model, self.log = kind, title, model, log
        self._folder = Path(tempfile.mkdtemp(prefix="handformer-"))
        self._shown: OrderedDict[str, Shown] = OrderedDict()
        self._writings: OrderedDict[str, Writing] = OrderedDict()
        self._made: list[str] = []
        self._count, self._closed = 0, False
        self._lock = threading.Lock()  # of what is shown; held for moments
        self._disk = threading.Lock()  # of the folder; held while a file is written

    def __enter__(self) -> "Session":
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Remove what was made here."""
        with self._disk:
            self._closed = True
            with self._lock:
                self._shown.clear()
                self._writings.clear()
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def about(self) -> dict[str, Any]:
        """What is shown, and what can be done with it."""
        writes = self.model is not None and not isinstance(self.model.model, Encoder)
        return {
            "kind": self.kind,
            "title": self.title,
            "offline": False,
            "family": self._family(),
            "can": {"run": self.model is not None, "generate": writes, "log": self.log is not None},
        }

    def _family(self) -> str | None:
        if self.model is not None:
            return self.model.model.config.family
        for shown in self.traces():
            return (shown.trace.manifest.config or {}).get("family")
        return None

    def traces(self) -> list[Shown]:
        """Those that are shown, in the order in which they came."""
        with self._lock:
            return list(self._shown.values())

    def trace(self, number: str) -> Shown:
        """The one of this number; GoneError where there is none."""
        with self._lock:
            if number not in self._shown:
                raise GoneError(f"there is no trace {number[:20]!r} here, or no longer")
            return self._shown[number]

    def show(self, path: Path, title: str) -> str:
        """Show a trace file; its number. InputError where it is none."""
        with self._lock:
            number = self._next()
        shown = Shown.open(number, title, path)
        with self._lock:
            self._shown[number] = shown
        return number

    def run(self, text: str, targets: str | None = None) -> str:
        """Run a text through the model and show the trace; its number.

        Raises
        ------
        InputError
            where there is no model, or the text can't be run
        """
        if self.model is None:
            raise InputError("a trace alone is shown here: to run texts, inspect a model")
        made = trace(self.model, text, targets=targets, name=self.title, ops=self.model.ops)
        with self._disk:
            if self._closed:
                raise GoneError("the session has ended")
            with self._lock:
                number = self._next()
            path = self._folder / f"{number}.safetensors"
            made.save(path)
            shown = Shown.open(number, _short(text), path)
            with self._lock:
                self._shown[number] = shown
                self._made.append(number)
                self._make_room()
        return number

    def _make_room(self) -> None:
        """The oldest of the traces made here go, while they are too many or too large."""
        sizes = {number: self._shown[number].state[1] for number in self._made}
        while len(sizes) > 1 and (len(sizes) > TRACES or sum(sizes.values()) > BYTES):
            oldest = self._made.pop(0)
            del sizes[oldest]
            self._shown.pop(oldest).path.unlink()

    def write(self, text: str, sampling: Sampling, seed: int) -> dict[str, Any]:
        """Begin to write on from a text: the number to go on with, and the text's tokens."""
        if self.model is None:
            raise InputError("a trace alone is shown here: to let a model write, inspect a model")
        writing = Writing(self.model, text, sampling, seed)
        with self._lock:
            number = self._next()
            self._writings[number] = writing
            while len(self._writings) > WRITINGS:
                self._writings.popitem(last=False)
        return {"session": number, **writing.told}

    def write_on(self, number: str) -> dict[str, Any]:
        """One token more. GoneError where no such writing has begun, or it was too long ago."""
        with self._lock:
            writing = self._writings.get(number)
        if writing is None:
            raise GoneError(f"there is no writing {number[:20]!r} here, or no longer: begin again")
        return writing.next()

    def _next(self) -> str:
        self._count += 1
        return str(self._count)


def _state(path: Path) -> tuple[int, int, int]:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _short(text: str) -> str:
    """The beginning of a text, in a line."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"
