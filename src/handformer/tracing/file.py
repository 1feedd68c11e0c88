"""A trace on disk: one safetensors file, and a map of it into memory.

A value is read where it lies: opening a trace reads its manifest alone, and an array is brought in
page by page as its entries are looked at.
"""

import json
import mmap
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from handformer.errors import InputError
from handformer.train import aside

KEY = "handformer"
DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32",
    "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


def write(path: Path, arrays: Mapping[str, NDArray[Any]], manifest: str) -> None:
    """Write a trace whole, aside and then renamed.

    Raises
    ------
    OSError
        where the disk refuses; what was at `path` is still there then
    """
    path = aside.target(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    # (NumPy makes an axis for a number without any.)
    whole = {name: np.ascontiguousarray(a).reshape(a.shape) for name, a in arrays.items()}
    try:
        beside.touch()  # the library's own error doesn't say what the disk refused
        mode = beside.stat().st_mode
        save_file(whole, beside, metadata={KEY: manifest})
        beside.chmod(mode)  # the library's files are their owner's alone
        os.replace(beside, path)
    except SafetensorError as error:
        raise OSError(str(error)) from None
    finally:
        beside.unlink(missing_ok=True)


class Tensors:
    """Any safetensors file, mapped into memory.

    metadata
        the texts in its header
    offsets
        where each array's bytes begin and end in the file, with the name of its type and its shape
    """

    def __init__(self, path: Path, *, what: str = "trace") -> None:
        """Map the file; the library checks names, shapes and offsets before we read any.

        Raises
        ------
        InputError
            where it can't be read as the thing that it is said to be
        """
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: no file; a {what} is one .safetensors file")
        try:
            with safe_open(path, framework="np") as checked:
                self.metadata = checked.metadata() or {}
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise InputError(f"{path}: can't read the {what}: {error.strerror or error}") from None
        except (SafetensorError, ValueError) as error:
            raise InputError(f"{path}: not a safetensors file: {error}") from None
        self.path = path
        self.offsets = self._offsets()

    def _offsets(self) -> dict[str, tuple[str, tuple[int, ...], int, int]]:
        size = int.from_bytes(self._map[:8], "little")
        header = json.loads(self._map[8 : 8 + size], object_pairs_hook=self._once)
        data, found = 8 + size, {}
        header.pop("__metadata__", None)
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            dtype = DTYPES.get(entry["dtype"], entry["dtype"])
            found[name] = (dtype, tuple(entry["shape"]), data + begin, data + end)
        return found

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = Counter(name for name, _ in pairs)
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise InputError(f"{self.path}: {twice!r} stands twice in its header")
        return dict(pairs)

    def array(self, name: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
        """A view of the file, read-only; `dtype` is for types that NumPy calls otherwise."""
        said, shape, begin, end = self.offsets[name]
        return np.frombuffer(memoryview(self._map)[begin:end], dtype or said).reshape(shape)


class File(Tensors):
    """An open trace file; `manifest` is its JSON text."""

    def __init__(self, path: Path) -> None:
        """Map the file.

        Raises
        ------
        InputError
            where it can't be read, or isn't a trace
        """
        super().__init__(path)
        if KEY not in self.metadata:
            raise InputError(f"{path}: no trace (no {KEY!r} in its metadata); write one with trace")
        self.manifest = self.metadata[KEY]
        for name, (dtype, *_) in self.offsets.items():
            if dtype not in DTYPES.values():
                raise InputError(f"{path}: {name} is {dtype}, which no trace has")
