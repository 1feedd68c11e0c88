"""Writing a file whole: aside, then renamed, so that a reader sees the old file or the new one."""

import os
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Put `data` at `path`. A kill at any moment leaves either what was there or all of `data`.

    Raises
    ------
    OSError
        if the folder can't be written to; nothing is left behind then
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # the rename must not reach the disk before the data
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
