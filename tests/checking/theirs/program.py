"""A run of the program: what it was given, which mistakes are made, and what it has written."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.checking.theirs import sums
from tests.checking.theirs.case import Case
from tests.checking.theirs.tape import Traced


class Stop(Exception):  # noqa: N818
    """The program can't go on: with these shapes the next step is impossible."""


class Program:
    """What all layers of a run share.

    wrong
        the mistakes that are made, by name
    where
        the block in which they are made; None: in all of them
    asked
        the mistakes that some layer asked for: those that can be made here
    values
        what is written, by path, in the order of the computation
    notes
        what is kept for the way back, but isn't written
    """

    def __init__(self, case: Case, wrong: Iterable[str], where: int | None, dtype: Any) -> None:
        self.case = case
        self.wrong = frozenset(wrong)
        self.where = where
        self.dtype = np.dtype(dtype)
        self.asked: set[str] = set()
        self.values: dict[str, Any] = {}
        self.notes: dict[str, Any] = {}
        self.random = np.random.default_rng(11)
        made: dict[int, Any] = {}
        for array in (case.weights | case.inputs).values():
            made[id(array)] = self.cast(array)
        given = case.weights | case.inputs
        self.given = {path: made[id(array)] for path, array in given.items()}

    def on_tape(self) -> None:
        """From here on gradients are computed by themselves; a tied weight is one weight."""
        leaves: dict[int, Traced] = {}
        for path in self.case.weights:
            array = self.given[path]
            self.given[path] = leaves.setdefault(id(array), Traced.leaf(array))

    def cast(self, array: Any) -> Any:
        if isinstance(array, Traced):
            return array
        array = np.asarray(array)
        return array.astype(self.dtype) if array.dtype.kind == "f" else array


class At:
    """A place in the model: the layer's own weights, numbers and values, by their short names."""

    def __init__(self, program: Program, path: str = "", block: int | None = None) -> None:
        self.program, self.path, self.block = program, path, block

    def under(self, name: str, block: int | None = None) -> "At":
        path = f"{self.path}.{name}" if self.path else name
        return At(self.program, path, self.block if block is None else block)

    @property
    def case(self) -> Case:
        return self.program.case

    def _full(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def wrong(self, *names: str) -> bool:
        """Whether one of these mistakes is made here."""
        self.program.asked.update(names)
        here = self.program.where in (None, self.block)
        return here and any(name in self.program.wrong for name in names)

    def form(self, row: str, forms: Iterable[str]) -> str | None:
        """Which of a row's forms is made here."""
        made = [form for form in forms if self.wrong(f"{row}:{form}")]
        return made[0] if made else None

    def has(self, name: str) -> bool:
        return self._full(name) in self.program.given

    def __getitem__(self, name: str) -> Any:
        path = self._full(name)
        for source in (self.program.notes, self.program.values, self.program.given):
            if path in source:
                return source[path]
        raise KeyError(path)

    def put(self, name: str, array: Any) -> Any:
        """Write a value."""
        array = self.program.cast(array)
        if isinstance(array, Traced):
            array = array.retained()
        self.program.values[self._full(name)] = array
        return array

    def note(self, name: str, array: Any) -> Any:
        """Keep a value for the way back without writing it; it goes before a written one."""
        array = self.program.cast(array)
        self.program.notes[self._full(name)] = array
        return array

    def leave_out(self, *names: str) -> None:
        """Values that this program doesn't have are kept for the way back, and not written."""
        for name in names:
            path = self._full(name)
            if path in self.program.values:
                self.program.notes[path] = self.program.values.pop(path)

    def number(self, name: str) -> float:
        return self.case.numbers[self.path][name]

    def product(self, a: Any, b: Any) -> Any:
        """A matrix product, in the order of summation that is asked for."""
        return sums.product(a, b, next((w for w in sums.WAYS if self.wrong(w)), ""))
