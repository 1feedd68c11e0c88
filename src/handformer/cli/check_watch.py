"""Waiting until files have changed, and nobody writes to them any more."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

PERIOD = 0.25  # seconds between two looks

_Stamp = tuple[tuple[str, int, int], ...]


def changes(paths: Sequence[Path], *, period: float = PERIOD) -> Iterator[None]:
    """Once at first, and then whenever a file or a folder has changed and is quiet again.

    What changes while the caller works isn't missed: it is compared with how things were before.
    """
    seen: _Stamp | None = None
    while True:
        stamp = _stamp(paths)
        if stamp != seen:
            seen = _quiet(paths, stamp, period)
            yield
        else:
            time.sleep(period)


def _quiet(paths: Sequence[Path], stamp: _Stamp, period: float) -> _Stamp:
    """How things are when two looks at them agree."""
    while True:
        time.sleep(period)
        later = _stamp(paths)
        if later == stamp:
            return later
        stamp = later


def _stamp(paths: Sequence[Path]) -> _Stamp:
    """Name, time and size of every file; what comes and goes meanwhile counts as not there."""
    return tuple(one for path in paths for one in _files(path))


def _files(path: Path) -> Iterator[tuple[str, int, int]]:
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in inside:
        try:
            told = file.stat()
        except OSError:
            continue
        yield str(file), told.st_mtime_ns, told.st_size
