"""What every layer shares: formulas under its own names, and the numbers that they mention."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from handformer import tree
from handformer.axes import Array
from handformer.errors import InputError
from handformer.formula import Expansion, Sheet, expand


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

    def explain(self, name: str, place: tuple[int, ...], *records: object) -> Expansion:
        """One entry of one value, forward or backward, in its arithmetic.

            print(layer.explain("scores", (0, 1), cache))
            print(layer.explain("d_scores", (0, 1), cache, back))

        Parameters
        ----------
        name
            a value that `sheet` has a formula for
        place
            one number an axis, leading axes included
        records
            what `forward` and `backward` returned besides the output: where the numbers come from

        Raises
        ------
        KeyError
            where there is no formula of that name
        FormulaError
            where a number that it needs isn't in the records
        """
        values = dict(tree.flatten(self))
        scalars = dict(self.scalars)
        absent: list[str] = []
        for record in records:
            values |= tree.gradients(record)  # of a cache simply its values
            scalars |= {n: p for n, p in tree.children(record) if isinstance(p, int | float)}
            absent += [n for n, p in tree.children(record) if p is None]
        return expand(self.sheet.without(*absent), name, place, values, scalars)


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
