"""Where text comes from: a file, a folder, a pattern, standard input, or Python's own manual.

Text is strict UTF-8, kept as it is: line ends stay, only a byte order mark at a file's start goes.
Of a folder or pattern, files are taken in the order of their paths; hidden names are left out;
what isn't text is skipped and counted; a newline is put between two files where the first doesn't
end with one.
"""

import glob
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import record
from handformer.errors import InputError

_EMBEDDED = f"the documentation topics of Python {sys.version_info[0]}.{sys.version_info[1]}"
_CURE = "name a text file, a folder, a pattern like 'texts/*.txt', or - for standard input"


@record
class Corpus:
    """A text and where it came from.

    Fields: the text; a name for people; the sha256 of its UTF-8 bytes, in hexadecimal; the files it
    was read from, in order; how many files were skipped because they hold no text.
    """

    text: str
    name: str
    sha256: str
    files: tuple[str, ...]
    skipped: int = 0


class _NotTextError(InputError):
    """A file that holds something else than text: an error if named, skipped in a folder."""


def read(source: str | os.PathLike[str] | None = None) -> Corpus:
    """Read text: None is the embedded one, "-" standard input, else a path or a pattern.

    Raises InputError where there is nothing, nothing but one character, or no UTF-8 text.
    """
    if source is None:
        return _corpus(_embedded(), _EMBEDDED)
    name = os.fspath(source)
    if name == "-":
        return _corpus(_decoded(sys.stdin.buffer.read(), "standard input"), "standard input")
    try:
        path = Path(name).expanduser()
        if name and path.is_dir():
            return _many(_below(path), name)
        if name and not path.exists() and glob.has_magic(name):
            matches = glob.glob(str(path), recursive=True)
            return _many([Path(match) for match in sorted(set(matches))], name)
        return _corpus(_decoded(path.read_bytes(), name), name, (str(path),))
    except InputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a zero in a path is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name!r} can't be read ({reason}); {_CURE}") from error


def split(
    ids: NDArray[np.integer[Any]], context: int, validation_fraction: float = 0.1
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """Cut token ids, shape (n,), into a first part for training and a last part for validation.

    Each part is at least one window of `context` + 1 tokens (the inputs, and each one's next
    token), which may make the validation part larger than its fraction. Both are views.

    Raises InputError where the ids aren't enough for that.
    """
    if not 0 < validation_fraction < 1:
        raise InputError(
            f"validation_fraction {validation_fraction} is out of range; "
            "give a number between 0 and 1, like 0.1"
        )
    window = context + 1
    if len(ids) < 2 * window:
        raise InputError(
            f"the text has {len(ids)} tokens, and context {context} needs at least {2 * window}: "
            f"{window} to train and {window} to validate; take more text or a smaller context"
        )
    train = int(len(ids) * (1 - validation_fraction))
    train = min(max(train, window), len(ids) - window)
    return ids[:train], ids[train:]


def _embedded() -> str:
    try:
        from pydoc_data import topics  # noqa: PLC0415  half a megabyte, not needed otherwise
    except ImportError as error:
        raise InputError(f"this Python comes without the embedded text; {_CURE}") from error
    return "".join(topics.topics.values())


def _corpus(text: str, name: str, files: tuple[str, ...] = (), skipped: int = 0) -> Corpus:
    if len(text) < 2:
        held = f"nothing but {text!r}" if text else "no text at all"
        raise InputError(f"{name!r} holds {held}; {_CURE}, with two characters or more")
    return Corpus(text, name, hashlib.sha256(text.encode()).hexdigest(), files, skipped)


def _below(folder: Path) -> list[Path]:
    """The files in a folder and its folders, sorted, without hidden ones."""
    paths = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(parent, name) for name in names if not name.startswith(".")]
    return sorted(paths)


def _many(paths: list[Path], name: str) -> Corpus:
    """The texts of many files in a row."""
    texts: list[str] = []
    files = []
    skipped = 0
    for path in paths:
        if path.is_dir():
            continue
        try:
            # Reading a named pipe would wait for ever.
            text = _decoded(path.read_bytes(), str(path)) if path.is_file() else None
        except (OSError, _NotTextError):
            text = None
        if text is None:
            skipped += 1
        elif text:
            if texts and not texts[-1].endswith("\n"):
                texts.append("\n")
            texts.append(text)
            files.append(str(path))
    if not files:
        raise InputError(f"{name!r} has no text file ({skipped} files of other kinds); {_CURE}")
    return _corpus("".join(texts), name, tuple(files), skipped)


def _decoded(data: bytes, name: str) -> str:
    """The text of a file's bytes."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _NotTextError(f"{name!r} is UTF-16, expected UTF-8; save it as UTF-8")
    if (zero := data.find(0)) >= 0:
        raise _NotTextError(f"{name!r} is binary (byte {zero} is zero), expected text; {_CURE}")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            raise InputError(
                f"{name!r} is cut inside a UTF-8 character at byte {error.start} of {len(data)}; "
                "get the whole file, or cut that character off"
            ) from error
        raise _NotTextError(
            f"{name!r} is not UTF-8 text (byte {error.start} is 0x{data[error.start]:02x}, "
            f"{error.reason}); save it as UTF-8"
        ) from error
