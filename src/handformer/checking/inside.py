"""The values of a desk by the names that one step's formula gives them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.case import GIVEN, LATER, Step

if TYPE_CHECKING:
    from handformer.checking.desk import Desk

AnyArray = NDArray[Any]


class Numbers(Mapping[str, AnyArray]):
    """The values by the names that a step's formula gives them.

    Its own name stands for its shape, which tells how far letters run.
    """

    def __init__(self, desk: "Desk", step: Step) -> None:
        self.desk, self.step = desk, step

    def path(self, name: str) -> str | None:
        """Which value a name stands for."""
        if self.step.formula is None and name in (self.step.name, GIVEN + self.step.name):
            return self.step.path
        return self.desk.case.find(self.step.scope, name)

    def read(self, path: str) -> AnyArray:
        """The numbers of a value."""
        return self.desk.number(path)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.path(name) is not None

    def __getitem__(self, name: str) -> AnyArray:
        path = self.path(name)
        if path is None:
            raise KeyError(name)
        if name.startswith(LATER) and path in self.desk.written:
            return self.desk.written[path].array
        if name.startswith((GIVEN, LATER)):
            return self.desk.case.trace[path]
        copy = self.desk.copy(f"{self.step.scope}.{name}", path) if self.desk.copies else None
        if copy is not None:
            return copy
        if path == self.step.path:
            return np.broadcast_to(np.float64(0), self.step.value.shape)
        return self.read(path)

    def __iter__(self) -> Iterator[str]:
        return iter(())  # what a name stands for is only known when it is asked for

    def __len__(self) -> int:
        raise NotImplementedError


class Moved(Numbers):
    """The same, moved by roundings."""

    def read(self, path: str) -> AnyArray:
        """The numbers of a value, moved."""
        return self.desk.moved(path)


class Errors(Mapping[str, float | AnyArray]):
    """What the values of a step are off already, by the names that its formula gives them."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def __getitem__(self, name: str) -> float | AnyArray:
        path = self.numbers.path(name)
        found = None if path is None else self.numbers.desk.error(path)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError
