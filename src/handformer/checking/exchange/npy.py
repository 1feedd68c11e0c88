"""A dump in NumPy's formats: a folder of .npy files, one .npy file, or an .npz archive.

Each header is read first, and held against the bytes that are there. No pickle is ever opened.
"""

import os
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from handformer.checking.exchange.dump import Dump, Dumped, require_numbers, require_shape
from handformer.checking.exchange.tensors import widened
from handformer.errors import InputError

SUFFIX = ".npy"
_DEEPEST = 40
_MOST_DEFLATED = 1100  # deflate can't pack more bytes into one

Header = tuple[np.dtype[Any], tuple[int, ...], str, int]


def read_folder(path: Path) -> Dump:
    """Open every .npy file below a folder; `blocks/0/q.npy` is blocks.0.q, as blocks.0.q.npy is.

    Raises
    ------
    InputError
        where there is none, one is damaged, or a link leads back to a folder above
    """
    try:
        files = list(_below(path, ()))
    except OSError as error:
        raise InputError(f"{path}: can't read the folder: {error.strerror or error}") from None
    if not files:
        raise InputError(f"{path}: no .npy file is in it; name the file itself, or write some")
    return Dump(path, (_mapped(file, ".".join(file.relative_to(path).parts)) for file in files))


def read_file(path: Path) -> Dump:
    """Open one .npy file; its name is the array's.

    Raises
    ------
    InputError
        where it is damaged
    """
    return Dump(path, [_mapped(path, path.name)])


def read_archive(path: Path) -> Dump:
    """Open an .npz archive, packed or not.

    Raises
    ------
    InputError
        where it, or an array in it, is damaged
    """
    try:
        archive = zipfile.ZipFile(path)
        return Dump(path, [_member(archive, path, info) for info in archive.infolist()])
    except OSError as error:
        raise InputError(f"{path}: can't read the dump: {error.strerror or error}") from None
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: not an .npz archive, or a damaged one: {error}") from None


def _below(folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
    real = os.path.realpath(folder)
    if real in above:
        raise InputError(f"{folder}: a link back to {real}, a folder above it: remove the link")
    if len(above) > _DEEPEST:
        raise InputError(f"{folder}: more than {_DEEPEST} folders deep: expected few")
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            yield from _below(entry, (*above, real))
        elif entry.is_symlink() and not entry.exists():
            raise InputError(f"{entry}: a link that leads nowhere: remove it")
        elif entry.suffix == SUFFIX and entry.is_file():
            yield entry


def _mapped(file: Path, name: str) -> tuple[str, Any]:
    where, name = str(file), name.removesuffix(SUFFIX)
    try:
        with file.open("rb") as stream:
            header = _header(stream, where, file.stat().st_size)
    except OSError as error:
        raise InputError(f"{file}: can't read the dump: {error.strerror or error}") from None
    return name, partial(_map, file, name, header)


def _map(file: Path, name: str, header: Header) -> Dumped:
    dtype, shape, order, start = header
    try:
        # (A map of a number without axes has one axis.)
        whole = np.memmap(file, dtype, "r", start, shape or (1,), order)  # type: ignore[call-overload]
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: can't read the dump: {error}") from None
    return _native(name, np.asarray(whole).reshape(shape), str(file))


def _member(archive: zipfile.ZipFile, path: Path, info: zipfile.ZipInfo) -> tuple[str, Any]:
    where = f"{path}: {info.filename}"
    if not info.filename.endswith(SUFFIX):
        raise InputError(f"{where}: expected .npy files only: take it out of the archive")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise InputError(f"{where}: not packed as NumPy packs: write it by savez")
    if info.file_size > _MOST_DEFLATED * max(info.compress_size, 1):
        raise InputError(f"{where}: {info.file_size:,} bytes can't be packed so small: damaged")
    with archive.open(info) as stream:
        header = _header(stream, where, info.file_size)
    name = info.filename.removesuffix(SUFFIX)
    return name, partial(_unpacked, archive, info, name, header, where)


def _unpacked(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, header: Header, where: str
) -> Dumped:
    dtype, shape, order, start = header
    try:
        with archive.open(info) as stream:
            held = stream.read(info.file_size)
        flat = np.frombuffer(held, dtype, prod(shape), start)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{where}: damaged: {error}") from None
    return _native(name, flat.reshape(shape, order="F" if order == "F" else "C"), where)


def _native(name: str, stored: NDArray[Any], where: str) -> Dumped:
    if not stored.dtype.isnative:
        stored = stored.astype(stored.dtype.newbyteorder("="))
    return widened(name, stored, where)


def _header(stream: IO[bytes], where: str, size: int) -> Header:
    """Type, shape, order and start of the numbers; refused where the bytes don't hold them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # written by Python 2
            major, _ = npy_format.read_magic(stream)
            reader = (
                npy_format.read_array_header_1_0 if major == 1 else npy_format.read_array_header_2_0
            )
            shape, is_fortran, dtype = reader(stream)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{where}: not an .npy file, or a damaged one: {said}") from None
    if dtype.kind == "V" and dtype.names is None:
        raise InputError(f"{where}: raw bytes (.npy has no bfloat16): widen to float32 first")
    require_numbers(where, dtype.kind, "objects (a pickle)" if dtype.hasobject else dtype)
    needed, start = require_shape(where, shape) * dtype.itemsize, stream.tell()
    if size - start != needed:
        raise InputError(
            f"{where}: {size - start:,} bytes of numbers; a {dtype} of {shape} has {needed:,}: "
            "it is cut short or damaged, write it again"
        )
    return dtype, shape, "F" if is_fortran else "C", start
