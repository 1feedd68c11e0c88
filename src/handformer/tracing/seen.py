"""Where values lie in memory: the same numbers seen from several places are one value."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

AnyArray = NDArray[Any]
Kind = Literal["weight", "input", "value", "gradient", "weight_gradient", "lens"]


@dataclass(frozen=True)
class Found:
    """One value: as what it was seen first, under which paths, and its numbers."""

    kind: Kind
    paths: tuple[str, ...]
    array: AnyArray


class Seen:
    """Every value in the order in which it was first seen.

    `place(array)` tells where an array lies: equal for two that are the same value.
    """

    def __init__(self, place: Callable[[AnyArray], Hashable]) -> None:
        """Nothing has been seen yet."""
        self._place = place
        self._kinds: dict[Hashable, Kind] = {}
        self._arrays: dict[Hashable, AnyArray] = {}  # held, so that no place serves twice
        self._paths: dict[Hashable, dict[str, None]] = {}

    def add(self, kind: Kind, arrays: Mapping[str, AnyArray]) -> None:
        """What is seen for the first time is of this kind."""
        for path, array in arrays.items():
            at = self._place(array)
            self._kinds.setdefault(at, kind)
            self._arrays.setdefault(at, array)
            self._paths.setdefault(at, {})[path] = None

    def __iter__(self) -> Iterator[Found]:
        """What was found."""
        for at, kind in self._kinds.items():
            yield Found(kind, tuple(self._paths[at]), self._arrays[at])


def place(array: AnyArray) -> Hashable:
    """Where the entries of an array lie, and in which order."""
    lies = array.__array_interface__
    return lies["data"][0], array.dtype.str, array.shape, array.strides


def in_order(seen: Seen, gradients: Iterable[str]) -> list[Found]:
    """Weights, inputs and values as they were found; then gradients in the order of these paths."""
    order = {path: number for number, path in enumerate(gradients)}

    def key(found: Found) -> tuple[int, int]:
        if found.kind in ("gradient", "weight_gradient"):
            return 1, min(order[path] for path in found.paths)
        return (2 if found.kind == "lens" else 0), 0

    return sorted(seen, key=key)
