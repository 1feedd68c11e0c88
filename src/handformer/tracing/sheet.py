"""A trace of formulas that stand alone: one sheet, its inputs and its values."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula import Sheet
from handformer.formula.names import is_gradient
from handformer.tracing.assemble import assemble, with_repeats
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Kind, Seen
from handformer.tracing.stated import Stated
from handformer.tracing.trace import Trace

Arrays = Mapping[str, NDArray[Any]]


def of_sheet(
    sheet: Sheet,
    inputs: Arrays,
    values: Arrays,
    scalars: Mapping[str, Any],
    *,
    name: str,
    layer: str,
) -> Trace:
    """The trace of a sheet's values; what no formula mentions is left out.

    Parameters
    ----------
    inputs, values
        arrays by the names of the formulas: what comes from outside, and what they make of it
    scalars
        the bare numbers in the formulas
    name, layer
        what the trace is called, and the class that its layer goes by
    """
    numbers = {key: n for key, n in scalars.items() if isinstance(n, int | float)}
    seen = Seen(id)  # of copies: one array may have been given for all the weights
    for path, array in {**inputs, **values}.items():
        kind: Kind = "gradient" if is_gradient(path) else "value"
        seen.add("input" if path in inputs else kind, {path: np.array(array)})
    told = Stated()
    told.add("", sheet)
    found = [one for one in seen if told.axes.keys() & {*one.paths} or one.array.ndim == 0]
    placed = with_repeats(found, told, [Scope("", layer, sheet, numbers)])
    return assemble(found, told, placed, name=name, model=layer, dtype="float64")
