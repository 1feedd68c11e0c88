"""A case made of formulas: numbers are given, and all others follow from the sheets of its scopes.

So what no layer keeps a record of, a step of cached generation or a draw, is checked as everything
else is.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.formula import evaluate
from handformer.tracing.assemble import assemble
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Found
from handformer.tracing.stated import Stated
from handformer.tracing.trace import Trace, sealed

AnyArray = NDArray[Any]
Shape = tuple[int, ...]


def worked_out(
    name: str,
    placed: Sequence[Scope],
    given: Sequence[Found],
    values: Sequence[tuple[str, ...]],
    *,
    model: str,
    config: Mapping[str, Any] | None = None,
    shapes: Mapping[str, Shape] | None = None,
    letters: Mapping[str, tuple[str, ...]] | None = None,
) -> Trace:
    """The trace of what is given and of the values, in float64.

    Parameters
    ----------
    placed
        the scopes, each with its sheet
    values
        what is worked out, in the order of the computation: each the path at which a sheet states
        it, and the paths where the same numbers are seen
    model, config
        what the manifest says of the model
    shapes
        of the values whose formulas don't tell all of theirs
    letters
        the axes of what is given, where no formula tells them
    """
    arrays = {path: one.array for one in given for path in one.paths}
    formulas = _Formulas(placed, arrays, shapes or {})
    found = [*given]
    for paths in values:
        array = sealed(formulas.value(paths[0]))
        arrays |= dict.fromkeys(paths, array)
        found.append(Found("value", paths, array))
    told = Stated(axes=dict(letters or {}))
    for scope in placed:
        told.add(scope.path, scope.sheet)
    return assemble(found, told, placed, name=name, model=model, dtype="float64", config=config)


class _Formulas:
    """The formula of each path, and the arrays that are there."""

    def __init__(
        self, placed: Sequence[Scope], arrays: Mapping[str, AnyArray], shapes: Mapping[str, Shape]
    ) -> None:
        self._arrays, self._shapes = arrays, shapes
        self._of = {
            tree.join(scope.path, formula.name): (scope, formula.name)
            for scope in placed
            for formula in scope.sheet
        }

    def value(self, path: str) -> AnyArray:
        """What the formula at a path gives."""
        scope, name = self._of[path]
        below = _Below(scope.path, {**self._arrays, **self._untold(path)})
        return evaluate(scope.sheet, name, below, scope.scalars)

    def _untold(self, path: str) -> dict[str, AnyArray]:
        """The value itself as far as it is known beforehand: its shape."""
        shape = self._shapes.get(path)
        return {} if shape is None else {path: np.broadcast_to(np.zeros(()), shape)}


class _Below(Mapping[str, AnyArray]):
    """The arrays below a path, by the names that the formulas there give them."""

    def __init__(self, path: str, arrays: Mapping[str, AnyArray]) -> None:
        self._path, self._arrays = path, arrays

    def __getitem__(self, name: str) -> AnyArray:
        return self._arrays[tree.join(self._path, name)]

    def __iter__(self) -> Iterator[str]:
        prefix = tree.join(self._path, "x").removesuffix("x")
        return (path.removeprefix(prefix) for path in self._arrays if path.startswith(prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
