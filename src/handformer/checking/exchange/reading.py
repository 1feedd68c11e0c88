"""One way into every format of a dump."""

import os
from pathlib import Path

from handformer.checking.exchange import npy, tensors, written
from handformer.checking.exchange.dump import Dump
from handformer.errors import InputError

_FORMATS = {
    ".safetensors": tensors.read, ".npz": npy.read_archive, ".npy": npy.read_file,
    ".json": written.read,
}  # fmt: skip


def read(path: str | os.PathLike[str]) -> Dump:
    """Open what somebody wrote; an array is read when it is asked for.

    Raises
    ------
    InputError
        where there is nothing, the format is none of ours, or it is damaged
    """
    where = Path(path)
    if where.is_dir():
        return npy.read_folder(where)
    if not where.is_file():
        raise InputError(f"{where}: no dump is there")
    if where.suffix in _FORMATS:
        return _FORMATS[where.suffix](where)
    raise InputError(
        f"{where}: no format of a dump; expected {', '.join(_FORMATS)} or a folder of .npy files"
    )
