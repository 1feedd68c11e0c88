"""The scopes of a model: every layer where it stands, with its sheet and the numbers in it.

A layer's sheet speaks of the values below the layer's own path; so the same sheet serves wherever
the layer stands, and the blocks of a model share one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from handformer import tree
from handformer.formula import Sheet
from handformer.layers.layer import Layer


@dataclass(frozen=True)
class Scope:
    """A layer: its path, its class, its formulas, and the bare numbers that they mention."""

    path: str
    layer: str
    sheet: Sheet
    scalars: Mapping[str, Any]


def scopes(layer: Layer, cache: Any, back: Any) -> Iterator[Scope]:
    """The scopes of a layer or model, itself first, and of all its parts.

    What is None in a record is a part that this model doesn't have: its terms drop out. The plain
    numbers of a cache (the dropout's rate in this pass) hold in the layer that they lie in.
    """
    absent = [path for record in (cache, back) for path, p in tree.walk(record) if p is None]
    passing = {path: p for path, p in tree.walk(cache) if isinstance(p, int | float)}
    known: dict[Any, Sheet] = {}
    for path, part in tree.walk(layer):
        if isinstance(part, Layer):
            prefix = tree.join(path, "x").removesuffix("x")
            gone = tuple(one.removeprefix(prefix) for one in absent if one.startswith(prefix))
            key = (*_settings(part), gone)
            if key not in known:
                known[key] = part.sheet.without(*gone)
            own = {p.removeprefix(prefix): n for p, n in passing.items() if p.startswith(prefix)}
            yield Scope(path, type(part).__name__, known[key], {**part.scalars, **own})


def _settings(layer: Layer) -> Iterator[Any]:
    """All that a layer's sheet depends on: equal for the blocks of a model."""
    for path, part in tree.walk(layer):
        whole = isinstance(part, np.ndarray | tuple) or hasattr(part, "__dataclass_fields__")
        yield path, type(part) if whole else part
