"""Hold an op against its formulas: every value, both directions, and the derivation itself.

An op names its parameters as its formulas do, and returns its values in the sheet's order. That is
all this module has to know to call any of them.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula import Sheet, evaluate, slope

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """One op on given inputs, by the names that formulas and parameters share."""

    op: ModuleType
    arrays: Arrays
    scalars: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """The op's name, and the case's where an op has several."""
        name = self.op.__name__.rpartition(".")[2]
        return f"{name} ({self.label})" if self.label else name

    @property
    def sheet(self) -> Sheet:
        """The op's formulas, less those of the arrays that this case doesn't have."""
        sheet: Sheet = self.op.FORMULAS
        absent = [
            name
            for name, parameter in inspect.signature(self.op.forward).parameters.items()
            if name not in self.arrays and name not in self.scalars
        ]
        return sheet.without(*absent)


@dataclass(frozen=True)
class Finding:
    """How far one value is from what it should be, relative to the largest entry."""

    value: str
    difference: float


@dataclass(frozen=True)
class Verdict:
    """What holding a case against its sheet found."""

    case: Case
    values: tuple[Finding, ...]
    gradients: tuple[Finding, ...]


def call(function: Any, given: Mapping[str, Any]) -> Any:
    """Call a function with the arguments that it names; a name that isn't given is None."""
    return function(**{name: given.get(name) for name in inspect.signature(function).parameters})


def outputs(sheet: Sheet) -> list[str]:
    """The values whose gradients come from outside: what the backward formulas start from."""
    defined = {formula.name for formula in sheet}
    needed = (name for f in sheet if f.backward for name in (*f.inputs, *f.scalars))
    return [
        n[2:]
        for n in dict.fromkeys(needed)
        if n.startswith("d_") and n[2:] in defined and n not in defined
    ]


def run(case: Case, rng: np.random.Generator) -> Arrays:
    """Every value of both directions by name, computed by the op's code.

    The gradients of the outputs are drawn at random, unless the case gives them.
    """
    sheet = case.sheet
    values = dict(case.arrays)
    values |= _named(sheet.forward, call(case.op.forward, {**case.scalars, **values}))
    for name in outputs(sheet):
        y = np.asarray(values[name])
        drawn = np.asarray(rng.normal(size=y.shape), dtype=y.dtype)
        values.setdefault(f"d_{name}", drawn)
    if sheet.backward:
        values |= _named(sheet.backward, call(case.op.backward, {**case.scalars, **values}))
    return values


def verify(case: Case, rng: np.random.Generator, *, differences: bool = True) -> Verdict:
    """Compare every value of a case with its formula, every backward formula with differences."""
    sheet, values = case.sheet, run(case, rng)
    found = [
        Finding(name, distance(values[name], evaluate(sheet, name, values, case.scalars)))
        for name in (*sheet.forward, *sheet.backward)
    ]
    slopes = []
    if differences:
        for name in sheet.backward:
            of, start = name[2:], outputs(sheet)
            proved = slope(sheet, start, of, values, case.scalars)
            stated = evaluate(sheet, name, values, case.scalars)
            slopes.append(Finding(name, distance(stated, proved)))
    return Verdict(case, tuple(found), tuple(slopes))


def distance(found: Any, right: Any) -> float:
    """The greatest difference, relative to the largest right entry (to 1e-3 where all are smaller).

    Infinite where shapes differ or a number is not finite in only one of the two.
    """
    found, right = np.asarray(found, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if found.shape != right.shape:
        return float("inf")
    finite = np.isfinite(right)
    if not np.array_equal(found[~finite], right[~finite]) or not np.isfinite(found[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    scale = max(float(np.abs(right[finite]).max()), 1e-3)
    return float(np.abs(found[finite] - right[finite]).max()) / scale


def _named(names: tuple[str, ...], result: Any) -> Arrays:
    results = result if isinstance(result, tuple) else (result,)
    present = [r for r in results if r is not None]
    return dict(zip(names, present, strict=True))
