"""What somebody wrote: arrays by their names, each read when it is asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from handformer.errors import InputError

LONGEST_NAME = 400
_LETTERS = {"f": "floating point", "i": "whole numbers", "u": "whole numbers", "b": "truth values"}


@dataclass(frozen=True)
class Dumped:
    """One array as it was written, with its own name and order of axes.

    array
        the numbers: float32, float64, whole numbers or truth values; not to be written to
    unit
        the greatest relative error of one rounding in the type in which they were computed or
        stored: 2**-24 for float32. It is 0 for whole numbers and truth values, but not for whole
        numbers in JSON, where 1.0 and 1 look the same
    quantum
        the greatest absolute error of one rounding: half of the last decimal place
    where
        the file and the place in it, for messages
    """

    name: str
    array: NDArray[Any]
    unit: float
    quantum: float
    where: str


class Dump(Mapping[str, Dumped]):
    """All arrays of a file or a folder by name; an array is read each time it is asked for."""

    def __init__(self, path: Path, readers: Iterable[tuple[str, Callable[[], Dumped]]]) -> None:
        """Made by `exchange.read`.

        Raises
        ------
        InputError
            where there is nothing, a name is odd, or one stands twice
        """
        self.path = path
        self._readers: dict[str, Callable[[], Dumped]] = {}
        for name, reader in readers:
            if not name or not name.isprintable() or len(name) > LONGEST_NAME:
                raise InputError(
                    f"{path}: {name[:40]!r} is no name: expected 1 to {LONGEST_NAME} letters"
                )
            if name in self._readers:
                raise InputError(f"{path}: {name!r} stands in it twice: keep one of them")
            self._readers[name] = reader
        if not self._readers:
            raise InputError(f"{path}: nothing is in it; write at least one array")

    def __getitem__(self, name: str) -> Dumped:
        """Read one array."""
        return self._readers[name]()

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the file."""
        return iter(self._readers)

    def __len__(self) -> int:
        """How many arrays there are."""
        return len(self._readers)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a name; nothing is read."""
        return name in self._readers


def require_shape(where: str, shape: tuple[Any, ...]) -> int:
    """How many numbers an array of a shape that a file tells has.

    Raises
    ------
    InputError
        where it is no shape, or has no entry
    """
    if not all(type(length) is int and length >= 0 for length in shape):
        raise InputError(f"{where}: its shape is {shape}: expected whole numbers from 1")
    if 0 in shape:
        raise InputError(f"{where}: its shape {shape} has no entry: leave it out of the dump")
    return prod(shape)


def require_numbers(where: str, kind: str, said: object) -> None:
    """Refuse a type that no value has: `kind` is NumPy's letter, `said` the file's word for it.

    Raises
    ------
    InputError
        for complex numbers, texts, objects, records, dates
    """
    if kind not in _LETTERS:
        raise InputError(
            f"{where}: of type {said}; expected floating point, whole numbers or truth values"
        )
