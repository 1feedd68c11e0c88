"""Run an example: an op or a layer on its inputs, every value under the example's name for it."""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from handformer import tree
from handformer.examples.example import Code, Run, Scalars, Values
from handformer.formula import Sheet
from handformer.formula.edit import Renaming
from handformer.layers.layer import Layer
from handformer.selfcheck.ops import outputs


def op(module: ModuleType, **names: str) -> Code:
    """An op under other names, as `Sheet.rename` takes them: forward, then backward.

    The backward pass is run where the gradients of the outputs are given.
    """
    renaming = Renaming.of(names)

    def call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
        parameters = inspect.signature(function).parameters
        return function(**{name: given.get(renaming.array(name)) for name in parameters})

    def code(values: Values, scalars: Scalars) -> Run:
        given: dict[str, Any] = {**scalars, **values}
        parameters = inspect.signature(module.forward).parameters
        absent = [name for name in parameters if renaming.array(name) not in given]
        sheet: Sheet = module.FORMULAS.without(*absent).rename(**names)
        found = _named(sheet.forward, call(module.forward, given))
        given |= found
        if sheet.backward and all(f"d_{name}" in given for name in outputs(sheet)):
            found |= _named(sheet.backward, call(module.backward, given))
        return Run(sheet, found, scalars)

    return code


def layer(make: Callable[[Values], Any]) -> Code:
    """A layer made from the inputs, on the input `x`; backward too where `d_out` is given.

    The inputs have no leading axes, so the formulas are shown without them.
    """

    def code(values: Values, scalars: Scalars) -> Run:
        one = make(values)
        assert isinstance(one, Layer)
        out, cache = one.forward(values["x"])  # type: ignore[attr-defined]
        found: dict[str, Any] = {**tree.flatten(one), **tree.flatten(cache), "out": out}
        if "d_out" in values:
            back = one.backward(values["d_out"], cache)  # type: ignore[attr-defined]
            found |= tree.gradients(back)
        passing = {n: p for n, p in tree.children(cache) if isinstance(p, int | float)}
        return Run(one.sheet.rename(b=""), found, {**one.scalars, **passing, **scalars})

    return code


def chain(*codes: Code) -> Code:
    """One after the other, each with the values of those before it."""

    def code(values: Values, scalars: Scalars) -> Run:
        whole = Run(Sheet(()), values, scalars)
        for each in codes:
            new = each(whole.values, scalars)
            whole = Run(whole.sheet + new.sheet, {**whole.values, **new.values}, scalars)
        return whole

    return code


def _named(names: tuple[str, ...], result: Any) -> dict[str, Any]:
    results = result if isinstance(result, tuple) else (result,)
    arrays = [np.asarray(array) for array in results if array is not None]
    return dict(zip(names, arrays, strict=True))
