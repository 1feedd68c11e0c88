"""A run's log: one JSON object a line, one line an event, each with the `step` it belongs to.

A kill can cut the last line short. Reading then leaves it out; a resumed run removes it, together
with all that was logged after the checkpoint it goes on from, so that its log ends as an unbroken
run's does.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from handformer.errors import InputError
from handformer.train import aside

Entry = dict[str, Any]


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """Add one line; it is with the operating system when this returns.

    NumPy's numbers are written as plain ones. JSON knows no NaN and no infinity: they become null.
    """
    assert isinstance(entry.get("step"), int | np.integer), entry
    with path.open("ab") as file:
        file.write(_line(_plain(entry)))


def read(path: Path) -> list[Entry]:
    """All entries in order, less a last line that a kill cut short.

    Raises
    ------
    InputError
        if the file can't be read, or a line isn't a JSON object with a whole number `step`
    """
    return list(_entries(path))


def truncate_after(path: Path, step: int) -> None:
    """Remove the entries of later steps, and a cut last line; a log that isn't there stays so.

    Raises
    ------
    InputError
        as `read`
    """
    if path.exists():
        kept = [_line(entry) for entry in _entries(path) if entry["step"] <= step]
        aside.write(path, b"".join(kept))


def _line(entry: Entry) -> bytes:
    return (json.dumps(entry, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _entries(path: Path) -> Iterator[Entry]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: can't read the log: {error.strerror}") from None
    *lines, rest = data.split(b"\n")  # what follows the last line's end is empty, or was cut short
    for number, line in enumerate(lines, start=1):
        entry = _parse(line)
        if entry is None:
            raise InputError(
                f"{path}, line {number}: expected a JSON object with a whole number 'step', found "
                f"{line[:40]!r}: remove the line"
            )
        yield entry
    entry = _parse(rest)
    if entry is not None:  # only the line's end is missing
        yield entry


def _no_number(name: str) -> float:
    raise ValueError(f"{name} isn't JSON, and never written here")


def _parse(line: bytes) -> Entry | None:
    try:
        entry = json.loads(line, parse_constant=_no_number)
    except ValueError:  # also what isn't UTF-8
        return None
    whole = isinstance(entry, dict) and type(entry.get("step")) is int
    return entry if whole else None
