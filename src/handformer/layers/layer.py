"""What every layer shares: formulas under its own names, and the numbers that they mention."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from handformer import tree
from handformer.axes import Array
from handformer.errors import InputError
from handformer.formula import Sheet


class Layer:
    """A frozen record of weights with `forward` and `backward`; state never hides in it.

    A weight that is None is a part that this model doesn't have: its terms drop from the formulas.
    Every value has the dtype of the input and the weights; `tree.cast` gives a layer another one.
    """

    FORMULAS: ClassVar[Sheet] = Sheet(())

    @property
    def absent(self) -> tuple[str, ...]:
        """The weights that this layer doesn't have."""
        return tuple(name for name, part in tree.children(self) if part is None)

    @property
    def sheet(self) -> Sheet:
        """The formulas of every value of this layer, forward and backward."""
        return self.FORMULAS.without(*self.absent)

    @property
    def scalars(self) -> Mapping[str, float]:
        """The numbers that the formulas mention by bare names."""
        return {name: part for name, part in tree.children(self) if isinstance(part, int | float)}


def one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a name that isn't known.

    Raises
    ------
    InputError
        that names the setting, its value, and what there is
    """
    if value not in known:
        raise InputError(f"{name} = {value!r}: expected one of {', '.join(known)}")


def uniform(rng: np.random.Generator, bound: float, *shape: int) -> Array:
    """Weights drawn evenly from -bound to bound, in float64."""
    return rng.uniform(-bound, bound, shape)
