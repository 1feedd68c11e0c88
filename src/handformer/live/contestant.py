"""Whatever the user gave, a library, a function or a program, called in one way."""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from numpy.typing import NDArray

from handformer.errors import InputError
from handformer.live.asked import Asked
from handformer.live.contract import Contract
from handformer.live.process import BrokenError, Child
from handformer.live.program import Program

AnyArray = NDArray[Any]
LIBRARIES = (".so", ".dylib", ".dll")
TIMEOUT = 30.0


class _Asks(Protocol):
    def ask(
        self, told: Mapping[str, Any], arrays: Mapping[str, AnyArray]
    ) -> tuple[dict[str, Any], dict[str, AnyArray]]: ...

    def close(self) -> None: ...


class Contestant:
    """Somebody else's op, ready to be called; used in a `with`."""

    def __init__(self, contract: Contract, theirs: _Asks, *, timed: bool) -> None:
        """`timed`: whether it can tell how long it takes by itself."""
        self._contract, self._theirs, self.timed = contract, theirs, timed

    def __enter__(self) -> "Contestant":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Its process ends."""
        self._theirs.close()

    def call(self, asked: Asked) -> dict[str, AnyArray]:
        """What it makes of a call, as it came.

        Raises
        ------
        BrokenError
            where it crashes, hangs or refuses, or writes where it mustn't
        """
        return self._ask(asked, 0)[1]

    def seconds(self, asked: Asked, repeats: int) -> float:
        """How long one call takes, the mean of so many."""
        return float(self._ask(asked, repeats)[0]["seconds"])

    def _ask(self, asked: Asked, repeats: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        contract = self._contract
        told = {
            "op": contract.name, "direction": contract.direction, "repeats": repeats,
            "parameters": contract.parameters, "takes": contract.takes, "gives": contract.gives,
            "output": contract.output, "scalars": dict(asked.scalars), "whole": _whole(contract),
            "forms": {name: form and [*form] for name, form in asked.forms.items()},
        }  # fmt: skip
        arrays = {name: array for name, array in asked.arrays.items() if array is not None}
        answered, values = self._theirs.ask(told, arrays)
        if "wrong" in answered:
            raise BrokenError(answered["wrong"])
        return answered, values


class _Inside:
    """A function of this process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        from handformer.live.child import in_here  # noqa: PLC0415 (it is a program of its own)

        self.ask = partial(in_here, function)

    def close(self) -> None:
        """Nothing was started."""


def enter(
    contract: Contract,
    theirs: str | os.PathLike[str] | Callable[..., Any] | None,
    *,
    command: str | None = None,
    timeout: float = TIMEOUT,
) -> Contestant:
    """Somebody else's op from what a user gave: see `api.check_op`.

    Raises
    ------
    InputError
        where it can't be found or loaded
    BrokenError
        where it crashes while it is loaded
    """
    if (theirs is None) == (command is None):
        raise InputError(
            f"what is to stand in for {contract.name}? Give one: a library, module:function, "
            "or a command"
        )
    if command is not None:
        return Contestant(contract, Program(command, timeout=timeout), timed=False)
    if not isinstance(theirs, str | os.PathLike):
        assert callable(theirs)
        return Contestant(contract, _Inside(theirs), timed=True)
    kind, target, what = _read(os.fspath(theirs), contract.direction)
    return Contestant(contract, Child(kind, target, what, timeout=timeout), timed=True)


def _read(given: str, direction: str) -> tuple[str, str, str]:
    """What the child is to load: the kind, where it is, and what of it."""
    path, colon, symbol = given.rpartition(":")
    if not colon or not path.endswith(LIBRARIES):
        path, symbol = given, f"handformer_{direction}"
    if path.endswith(LIBRARIES):
        if not os.path.isfile(path):
            raise InputError(f"{path}: there is no such file")
        return "library", os.path.abspath(path), symbol  # a bare name is looked up elsewhere
    if not colon:
        raise InputError(
            f"{given} is neither a library ({', '.join(LIBRARIES)}) nor module:function"
        )
    return "function", given, direction


def _whole(contract: Contract) -> list[str]:
    """The numbers that are counts."""
    told = inspect.signature(getattr(contract.op, contract.direction)).parameters
    return [name for name in contract.scalars if told[name].annotation is int]
