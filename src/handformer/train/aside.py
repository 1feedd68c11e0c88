"""Writing a file whole, aside and then renamed, so that a reader sees the old one or the new one;
and removing a folder whole.
"""

import errno
import os
import shutil
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Put `data` at `path`. A kill at any moment leaves either what was there or all of `data`.

    Raises
    ------
    OSError
        if the folder can't be written to; nothing is left behind then
    """
    path = target(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the rename must not reach the disk before the data
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def target(path: Path) -> Path:
    """Where a file goes: what a link leads to. What is there and no file is left alone.

    Raises
    ------
    OSError
        for a folder, a device or a pipe
    """
    real = Path(os.path.realpath(path))
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "it is there, and no file", str(path))
    return real


def folder(path: Path) -> Path:
    """A hidden name beside `path` for a folder that isn't whole yet, or no more.

    What a killed process left under that name is gone then; what others left, a new run tidies up.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)
    return beside


def remove(path: Path) -> None:
    """Remove a folder. A kill at any moment leaves all of it under its name, or nothing."""
    beside = folder(path)
    os.replace(path, beside)
    shutil.rmtree(beside)
