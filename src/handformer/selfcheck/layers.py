"""Hold a layer, or a whole model, against the formulas of all its parts: every value, both
directions.

A layer's sheet speaks of the values below the layer's own path; so the same sheet serves wherever
the layer stands. A value without a formula must be another one seen from a second place: the
attention's input is the norm's output, the same numbers in the same memory.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from types import ModuleType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

import handformer.ops as plain
from handformer import tree
from handformer.axes import SIZES
from handformer.formula import Formula, Sheet, evaluate
from handformer.layers.layer import Layer
from handformer.ops.drops import NO_DROPOUT, Drops
from handformer.selfcheck.ops import Finding, distance
from handformer.tracing.scopes import scopes

Arrays = dict[str, NDArray[Any]]

# What backward is told besides d_out, and whose gradient it is a part of.
SENT = {"d_memory_later": "memory", "d_table_elsewhere": "table"}


@dataclass(frozen=True)
class LayerCase:
    """One layer, or a whole model, on given inputs.

    label
        tells the cases of one class apart
    inputs
        the arguments of `forward` by name
    drop
        what draws the dropout masks, where `forward` takes it
    sent
        the arguments of `backward` besides d_out and the cache: see `SENT`
    ops
        the operations: plain, or compiled
    """

    label: str
    layer: Layer
    inputs: Mapping[str, Any]
    drop: Drops = NO_DROPOUT
    sent: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    ops: ModuleType = plain

    @property
    def name(self) -> str:
        """The class of the layer, and the case's label."""
        return f"{type(self.layer).__name__}: {self.label}"

    def forward(self, layer: Any = None, inputs: Mapping[str, Any] | None = None) -> Any:
        """(out, cache) of this case's layer and inputs, or of others in their place."""
        layer = self.layer if layer is None else layer
        takes = inspect.signature(layer.forward).parameters
        told = {name: getattr(self, name) for name in ("drop", "ops") if name in takes}
        return layer.forward(**(self.inputs if inputs is None else inputs), **told)

    def cast(self, dtype: Any) -> Self:
        """The same case in another floating-point dtype."""

        def change(name: str, part: Any) -> Any:
            if name == "dtype":
                return dtype
            floating = isinstance(part, np.ndarray) and part.dtype.kind == "f"
            return part.astype(dtype) if floating else part

        return replace(
            self,
            layer=tree.cast(self.layer, dtype),
            inputs={name: change(name, part) for name, part in self.inputs.items()},
            sent={name: change(name, part) for name, part in self.sent.items()},
        )


class Run(NamedTuple):
    """One pass in both directions: the records, and every value by dotted path."""

    cache: Any
    back: Any
    values: Arrays


def run(case: LayerCase, rng: np.random.Generator) -> Run:
    """Forward, and backward from a d_out drawn at random.

    The entries of d_out are as large as makes the loss, sum(out * d_out), of order 1. Whatever a
    direction is given is read-only: who writes to it gets an error.
    """
    layer: Any = _locked(case.layer)
    out, cache = case.forward(layer, {name: _lock(part) for name, part in case.inputs.items()})
    d_out = _lock((rng.normal(size=out.shape) / sqrt(out.size)).astype(out.dtype))
    cache, back = _locked(cache), None
    if hasattr(layer, "backward"):
        sent = {name: _lock(part) for name, part in case.sent.items()}
        back = layer.backward(d_out, cache, ops=case.ops, **sent)
    return Run(cache, back, table(case.layer, cache, back, out=out, d_out=d_out))


def given(case: LayerCase, values: Arrays) -> set[str]:
    """The values that come from outside: inputs, masks drawn by chance, and d_out."""
    parts = (*case.inputs.values(), *case.sent.values(), values["d_out"])
    outside = [part for part in parts if isinstance(part, np.ndarray)]
    names = {*inspect.signature(case.layer.forward).parameters}  # type: ignore[attr-defined]
    return {
        path
        for path, array in values.items()
        if path in names
        or path.rpartition(".")[2] == "keep"
        or any(np.shares_memory(array, part) for part in outside)
    }


def _lock(part: Any) -> Any:
    """A view of an array that can't be written to; anything else as it is."""
    if not isinstance(part, np.ndarray):
        return part
    view = part.view()
    view.flags.writeable = False
    return view


def _locked(node: Any) -> Any:
    return tree.transform(node, lambda _, array: _lock(array))


@dataclass(frozen=True)
class Stated:
    """One value's formula where it stands: the path of its layer, and that layer's sheet and
    numbers.
    """

    path: str
    scope: str
    formula: Formula
    sheet: Sheet
    scalars: Mapping[str, Any]


def table(layer: Layer, cache: Any, back: Any, **given: NDArray[Any]) -> Arrays:
    """Every array by dotted path: weights, values, gradients, and what was given from outside."""
    return {**tree.flatten(layer), **tree.flatten(cache), **tree.gradients(back), **given}


def stated(layer: Layer, cache: Any, back: Any) -> Iterator[Stated]:
    """The formula of every value of a layer and of its parts."""
    shapes = {path: a.shape for path, a in {**tree.flatten(cache), **tree.gradients(back)}.items()}
    for scope in scopes(layer, cache, back):
        prefix = tree.join(scope.path, "")
        for formula in scope.sheet:
            if formula.kept:
                path = tree.join(scope.path, formula.name)
                scalars = {**_rows(formula, shapes.get(path, ())), **scope.scalars}
                yield Stated(path, prefix, formula, scope.sheet, scalars)


def verify(layer: Layer, cache: Any, back: Any, values: Arrays) -> tuple[Finding, ...]:
    """Compare every value that has a formula with what the formula gives.

    A value that a formula states but `values` doesn't hold is infinitely far off.
    """
    findings = []
    below: dict[str, Arrays] = {}
    for one in stated(layer, cache, back):
        if one.scope not in below:
            below[one.scope] = _below(values, one.scope)
        inside = below[one.scope]
        if one.formula.name not in inside:
            findings.append(Finding(one.path, float("inf")))
            continue
        right = evaluate(one.sheet, one.formula.name, inside, one.scalars)
        findings.append(Finding(one.path, distance(inside[one.formula.name], right)))
    return tuple(findings)


def unexplained(
    layer: Layer, cache: Any, back: Any, values: Arrays, *, inputs: set[str]
) -> list[str]:
    """The values that have no formula, aren't weights or inputs, and aren't another value seen
    again.
    """
    known = {one.path for one in stated(layer, cache, back)} | set(tree.flatten(layer)) | inputs
    seen = {_memory(values[path]) for path in known if path in values}
    return [path for path, a in values.items() if path not in known and _memory(a) not in seen]


def _memory(array: NDArray[Any]) -> tuple[Any, ...]:
    """Where an array's entries lie, and in which order; an axis it only repeats along isn't one."""
    steps = zip(array.shape, array.strides, strict=True)
    walked = tuple((n, step) for n, step in steps if step and n > 1)
    return array.__array_interface__["data"][0], array.dtype.str, walked


def _rows(formula: Formula, shape: tuple[int, ...]) -> dict[str, int]:
    """n_queries and n_keys, which no config tells: from the shape of the value itself."""
    last = dict(zip(reversed(formula.axes), reversed(shape), strict=False))
    return {SIZES[letter]: last[letter] for letter in "ts" if letter in last}


def _below(values: Mapping[str, Any], scope: str) -> dict[str, Any]:
    if not scope:
        return dict(values)
    prefix = f"{scope}."
    return {path[len(prefix) :]: a for path, a in values.items() if path.startswith(prefix)}
