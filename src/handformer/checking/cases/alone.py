"""How the case of a layer that stands alone is made, and of formulas that need no layer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.checking.cases.lively import lively
from handformer.formula import Sheet, evaluate_all
from handformer.layers.layer import Layer
from handformer.ops.drops import NO_DROPOUT, Drops
from handformer.tracing.case import as_given
from handformer.tracing.layer import of_layer
from handformer.tracing.scopes import Scope
from handformer.tracing.sheet import of_sheet
from handformer.tracing.trace import Trace

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Alone:
    """A layer on its own inputs.

    layer
        of these shapes; its weights are drawn for the case
    inputs
        what draws, by the case's name, the arguments of `forward`, and d_out if there is one
    sizes
        every size of it by name
    before, given
        formulas that make the mask, where they stand, and the arrays that they take
    """

    layer: Layer
    inputs: Callable[[str], Arrays]
    sizes: Mapping[str, int]
    before: Scope | None = None
    given: Arrays = field(default_factory=dict)
    drop: Drops = NO_DROPOUT

    def build(self, name: str) -> Trace:
        """Draw weights and inputs, and run the layer forward and backward."""
        layer, given = lively(self.layer, name), self.inputs(name)
        told = exact(given)
        d_out = told.pop("d_out", None)
        traced = of_layer(
            tree.cast(layer, np.float64), told, d_out, name=name, drop=self.drop,
            before=self.before, given=self.given,
        )  # fmt: skip
        return as_given(traced, {**tree.flatten(layer), **given})


@dataclass(frozen=True)
class Formulas:
    """An operation that no layer holds: its formulas, evaluated.

    inputs
        what draws, by the case's name, the arrays that they take
    scalars
        the bare numbers in them
    """

    layer: str
    sheet: Sheet
    inputs: Callable[[str], Arrays]
    scalars: Mapping[str, Any]
    sizes: Mapping[str, int]

    def build(self, name: str) -> Trace:
        """Draw the inputs, and evaluate one formula after the other."""
        given = self.inputs(name)
        values = evaluate_all(self.sheet, exact(given), self.scalars)
        traced = of_sheet(
            self.sheet, exact(given), values, self.scalars, name=name, layer=self.layer
        )
        return as_given(traced, given)


def exact(arrays: Arrays) -> Arrays:
    """The same numbers in float64."""
    return {
        name: array.astype(np.float64) if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }
