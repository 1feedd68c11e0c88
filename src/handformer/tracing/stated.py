"""What the formulas of all layers say of a value: its own formula, its axes, and who needs it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from handformer import tree
from handformer.formula import Formula, Sheet
from handformer.formula.expression import Entry, Index, walk
from handformer.layers.layer import Layer
from handformer.tracing.cost import mentioned


@dataclass(frozen=True)
class Stated:
    """Three tables by dotted path.

    formulas
        the formula of a value or gradient
    axes
        the letters of its axes, where a formula tells them
    needed_by
        the gradients whose formulas mention it
    """

    formulas: dict[str, Formula] = field(default_factory=dict)
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    needed_by: dict[str, list[str]] = field(default_factory=dict)

    def add(self, scope: str, sheet: "_Read") -> None:
        """Enter a sheet that stands at this path."""
        for formula, names in sheet.formulas:
            path = tree.join(scope, formula.name)
            self.formulas[path] = formula
            for name in names if formula.backward else ():
                self.needed_by.setdefault(tree.join(scope, name), []).append(path)
        for name, letters in sheet.axes.items():
            self.axes.setdefault(tree.join(scope, name), letters)


@dataclass(frozen=True)
class _Read:
    """A sheet's kept formulas, each with the names that it mentions, and the letters of arrays."""

    formulas: tuple[tuple[Formula, tuple[str, ...]], ...]
    axes: dict[str, tuple[str, ...]]


def stated(layer: Layer, cache: Any, back: Any, **others: Sheet) -> Stated:
    """What is stated by a layer or model and all its parts; `others` are sheets by their paths.

    What is None in a record is a part that this model doesn't have: its terms drop out.
    """
    found, known = Stated(), dict[Any, _Read]()
    absent = [path for record in (cache, back) for path, p in tree.walk(record) if p is None]
    for scope, part in tree.walk(layer):
        if isinstance(part, Layer):
            prefix = tree.join(scope, "x").removesuffix("x")
            gone = tuple(path.removeprefix(prefix) for path in absent if path.startswith(prefix))
            key = (*_settings(part), gone)
            if key not in known:
                known[key] = _read(part.sheet.without(*gone))
            found.add(scope, known[key])
    for scope, sheet in others.items():
        found.add(scope, _read(sheet))
    return found


def _settings(layer: Layer) -> Iterator[Any]:
    """All that a layer's sheet depends on: equal for the blocks of a model."""
    for path, part in tree.walk(layer):
        whole = isinstance(part, np.ndarray | tuple) or hasattr(part, "__dataclass_fields__")
        yield path, type(part) if whole else part


def _read(sheet: Sheet) -> _Read:
    axes: dict[str, tuple[str, ...]] = {}
    for formula in sheet:
        axes[formula.name] = formula.axes
        weight = formula.name.removeprefix("d_")
        axes.setdefault(weight, formula.axes)
    for formula in sheet:
        for node in walk(formula.body):
            if isinstance(node, Entry) and all(isinstance(place, Index) for place in node.indices):
                letters = tuple(place.letter for place in node.indices if isinstance(place, Index))
                axes.setdefault(node.name, letters)
    kept = tuple((formula, mentioned(sheet, formula)) for formula in sheet if formula.kept)
    return _Read(kept, axes)
