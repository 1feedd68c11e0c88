"""The forms in which a check gives its answer: on the terminal, for a program, and in files."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handformer.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from handformer.checking.report import Report
    from handformer.tracing.trace import Trace

_PATIENCE = 2.0  # seconds after which it is said that something is being done


@dataclass(frozen=True)
class Forms:
    """As text or as JSON, and in which files."""

    json: bool = False
    junit: Path | None = None
    html: Path | None = None

    def require_writable(self) -> None:
        """Refuse before the check what can't be written after it.

        Raises
        ------
        InputError
            for a folder, a device, or one file twice
        """
        from handformer.train import aside

        files = [path for path in (self.junit, self.html) if path is not None]
        for path in files:
            try:
                aside.target(path)
            except (OSError, ValueError) as error:
                raise _refused(path, error) from None
        if len({path.resolve() for path in files}) < len(files):
            raise InputError("--junit and --html need a file each")


def give(report: "Report", case: "Trace", forms: Forms) -> None:
    """Give the answer in every form that was asked for; `case` is what the page shows beside it."""
    if forms.junit is not None:
        from handformer.checking.show import junit

        _write(forms.junit, junit(report))
    if forms.html is not None:
        from handformer.inspector.checked import page

        with patiently("making the page"):
            made = page(report, case)
        _write(forms.html, made)
    if forms.json:
        from handformer.checking.show import record

        print(record(report), end="", flush=True)
    else:
        from handformer.checking.show.text import write

        write(report, console())


def console() -> "Console":
    """Standard output; without any codes where it isn't a terminal, or NO_COLOR is set."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(highlight=False, force_terminal=False if plain else None)


@contextmanager
def patiently(what: str) -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being done, if it takes longer than a moment.

    What is yielded takes the name of what comes just now.
    """
    from rich.console import Console
    from rich.text import Text

    told = Console(stderr=True)
    if not sys.stderr.isatty() or told.is_dumb_terminal:
        yield lambda _: None
        return
    status = told.status(what)
    timer = threading.Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda name: status.update(Text(f"{what} {name}"))
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _write(path: Path, data: bytes) -> None:
    from handformer.train import aside

    try:
        aside.write(path, data)
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: can't write: {getattr(error, 'strerror', None) or error}")
