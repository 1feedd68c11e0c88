"""What an op takes and gives, in which order: all that somebody else has to know to write it."""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import handformer.ops as plain
from handformer.errors import InputError
from handformer.formula import Sheet
from handformer.formula.names import unknown

DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class Contract:
    """One direction of one op.

    takes, scalars
        its arrays and its plain numbers, each in the order of the op's own parameters
    gives
        the values that come back, in the order of the formulas
    output
        the one among them that the rest of a model reads; None: it reads several
    """

    name: str
    direction: str
    op: ModuleType
    takes: tuple[str, ...]
    scalars: tuple[str, ...]
    gives: tuple[str, ...]
    output: str | None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of all parameters, in the op's own order."""
        return tuple(inspect.signature(getattr(self.op, self.direction)).parameters)

    def __str__(self) -> str:
        """The contract for somebody who is about to write the op."""
        sheet: Sheet = self.op.FORMULAS
        lines = [f"{self.name}, {self.direction}"]
        lines += [f"    in[{n}]      {name}" for n, name in enumerate(self.takes)]
        lines += [f"    scalars[{n}] {name}" for n, name in enumerate(self.scalars)]
        lines += [f"    out[{n}]     {sheet[name]!r}" for n, name in enumerate(self.gives)]
        short = [f"    {formula!r}" for formula in sheet if not formula.kept]
        return "\n".join([*lines, *(["with", *short] if short else [])])

    def record(self) -> dict[str, Any]:
        """The same for a program."""
        sheet: Sheet = self.op.FORMULAS
        return {
            "op": self.name, "direction": self.direction, "takes": list(self.takes),
            "scalars": list(self.scalars), "gives": list(self.gives), "output": self.output,
            "formulas": [repr(one) for one in sheet if one.name in self.gives or not one.kept],
        }  # fmt: skip


def contract(name: str, direction: str = "forward") -> Contract:
    """What the op of this name takes and gives.

    Raises
    ------
    InputError
        for an unknown op or direction, and for the backward of an op that has none
    """
    if direction not in DIRECTIONS:
        raise InputError(f"direction {direction}: expected forward or backward")
    known = names()
    if name not in known:
        raise InputError(unknown("op", name, known))
    op = importlib.import_module(f"{plain.__name__}.{name}")
    function = getattr(op, direction, None)
    sheet: Sheet = op.FORMULAS
    gives = sheet.forward if direction == "forward" else sheet.backward
    if function is None or not gives:
        raise InputError(f"{name} has no {direction}: it has nothing to compute there")
    told = {one.name: one.annotation for one in inspect.signature(function).parameters.values()}
    takes = tuple(n for n, kind in told.items() if kind not in (int, float, Any))
    scalars = tuple(n for n, kind in told.items() if kind in (int, float))
    return Contract(name, direction, op, takes, scalars, gives, _output(sheet, gives))


def names() -> list[str]:
    """Every op that states formulas, as in `softmax` and `masks.causal`."""
    found = pkgutil.walk_packages(plain.__path__, f"{plain.__name__}.")
    modules = (importlib.import_module(one.name) for one in found)
    return [one.__name__.partition(".ops.")[2] for one in modules if hasattr(one, "FORMULAS")]


def _output(sheet: Sheet, gives: tuple[str, ...]) -> str | None:
    """What other steps read: the value whose gradient comes from outside."""
    if len(gives) == 1:
        return gives[0]
    stated = {formula.name for formula in sheet}
    outside = [name for name in gives if f"d_{name}" not in stated and _starts(sheet, name)]
    return outside[0] if len(outside) == 1 else None


def _starts(sheet: Sheet, name: str) -> bool:
    return any(f"d_{name}" in (*f.inputs, *f.scalars) for f in sheet if f.backward)
