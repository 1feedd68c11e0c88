"""Finite differences of forward formulas: the proof that the backward formulas are derivatives.

The loss is the sum of every output times a fixed array, d_output. One entry of a value is moved
both ways, everything below it is evaluated again, and the slope of the loss is dL/d of that entry.
An inner value is moved in the same manner: as if it had been given.

Many entries are moved at once: the formulas below the value get one more axis, along which the
value stands moved in one way after another.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from handformer.formula.evaluate import Scalars, Values, evaluate
from handformer.formula.expression import Entry, Index, Node, Scalar, rewrite
from handformer.formula.names import gradient
from handformer.formula.sheet import Formula, Sheet

# Central differences at h, h/2 and h/4 are extrapolated twice (Richardson): the error that is left
# is of order h^6, and rounding adds about 1e-16 / h. With this h both stay near 1e-12 of the
# largest output where the formulas are smooth and their values of order 1.
STEP = 1e-3
_STEPS = np.array([1, 1 / 2, 1 / 4])
_WEIGHTS = np.array([1, -20, 64]) / 45

_WAY = "way"  # the additional axis: no letter of the legend
_AT_ONCE = 32


def slope(
    sheet: Sheet, outputs: Iterable[str], name: str, values: Values, scalars: Scalars
) -> NDArray[np.float64]:
    """dL/d`name`, entry by entry, where L = sum over `outputs` of output * d_output.

    Parameters
    ----------
    values
        the sheet's inputs, `name` itself, and the gradient of each output; forward values may be
        there too, and are evaluated again wherever they depend on `name`
    """
    start = np.array(values[name], dtype=np.float64)
    moving = _below(sheet, name)
    given = {key: array for key, array in values.items() if key not in moving}
    ways = Sheet(tuple(_in_many_ways(f, moving | {name}) if f.name in moving else f for f in sheet))
    ends = [y for y in outputs if y in moving or y == name]
    flat = np.zeros(start.size)
    for first in range(0, start.size, _AT_ONCE):
        places = np.arange(first, min(first + _AT_ONCE, start.size))
        entries = start.reshape(-1)[places]
        steps = STEP * np.maximum(1, np.abs(entries)) * _STEPS[:, None]
        ends_of_step = np.stack([entries + steps, entries - steps])  # up and down, step, place
        moved = np.broadcast_to(start.reshape(-1), (*ends_of_step.shape, start.size)).copy()
        moved[:, :, np.arange(places.size), places] = ends_of_step
        at = {**given, name: moved.reshape(-1, *start.shape)}
        rise = np.zeros(steps.shape)
        for y in ends:
            result = at[y] if y == name else evaluate(ways, y, at, scalars)
            up, down = result.reshape(2, *steps.shape, -1)
            # Subtracted before they are summed: what didn't move adds no rounding.
            rise += (up - down) @ np.asarray(values[gradient(y)], dtype=np.float64).reshape(-1)
        flat[places] = _WEIGHTS @ (rise / (ends_of_step[0] - ends_of_step[1]))
    return flat.reshape(start.shape)


def _below(sheet: Sheet, name: str) -> set[str]:
    """The forward values that depend on `name`."""
    below = {name}
    while more := {
        f.name
        for f in sheet
        if not f.backward and f.name not in below and below & {*f.inputs, *f.scalars}
    }:
        below |= more
    return below - {name}


def _in_many_ways(formula: Formula, moving: set[str]) -> Formula:
    """The formula with an axis more, and so every array in it that moves."""

    def change(node: Node) -> Node:
        match node:
            case Entry(name=name, indices=indices) if name in moving:
                return replace(node, indices=(Index(_WAY), *indices))
            case Scalar(name=name) if name in moving:
                return Entry(name, (Index(_WAY),), column=node.column)
        return node

    return replace(formula, axes=(_WAY, *formula.axes), body=rewrite(formula.body, change))
