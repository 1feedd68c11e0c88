"""Finite differences of forward formulas: the proof that the backward formulas are their derivatives.

The loss is the sum of every output times a fixed array, d_output. One entry of a value is moved both
ways, everything below it evaluated again, and the slope compared with what the backward formula says.
An inner value is moved in the same manner: as if it had been given.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.evaluate import Scalars, Values, evaluate
from handformer.formula.sheet import Sheet

STEP = 1e-3


def slope(
    sheet: Sheet, outputs: Iterable[str], name: str, values: Values, scalars: Scalars
) -> NDArray[np.float64]:
    """dL/d`name`, entry by entry, where L = sum over `outputs` of output * d_output.

    Parameters
    ----------
    values
        the sheet's inputs and the arrays `d_<output>`; forward values may be there too, and are
        evaluated again wherever they depend on `name`

    The central difference is taken at h, h/2 and h/4 and extrapolated twice (Richardson), which leaves
    an error of order h^6; with h = 1e-3 that and rounding (1e-16 / h) are both near 1e-12.
    """
    below = _below(sheet, name)
    given = {key: np.asarray(a) for key, a in values.items() if key not in below}
    start = np.array(values[name], dtype=np.float64)
    result = np.zeros_like(start)

    def loss(moved: NDArray[Any]) -> float:
        at = {**given, name: moved}
        return sum(
            float(np.sum(evaluate(sheet, y, at, scalars) * values[f"d_{y}"])) if y != name
            else float(np.sum(moved * values[f"d_{y}"]))
            for y in outputs
        )  # fmt: skip

    for place in np.ndindex(start.shape):
        scale = STEP * max(1.0, abs(float(start[place])))
        central = []
        for h in (scale, scale / 2, scale / 4):
            up, down = start.copy(), start.copy()
            up[place] += h
            down[place] -= h
            central.append((loss(up) - loss(down)) / (up[place] - down[place]))
        first = [(4 * fine - coarse) / 3 for coarse, fine in zip(central, central[1:], strict=False)]
        result[place] = (16 * first[1] - first[0]) / 15
    return result


def _below(sheet: Sheet, name: str) -> set[str]:
    """The forward values that depend on `name`."""
    below: set[str] = set()
    for formula in sheet:
        if not formula.backward and {name, *below} & {*formula.inputs, *formula.scalars}:
            below.add(formula.name)
    return below
