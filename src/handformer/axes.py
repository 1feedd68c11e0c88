"""The axes' letters, the array types, and `@record`, the form of every cache and every layer."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

LEGEND = {
    "b": "batch: any number of leading axes, none included",
    "t": "query position",
    "s": "key position",
    "r": "key position, a second one",
    "u": "key position, a third one",
    "h": "head",
    "g": "key/value head",
    "c": "place inside a head",
    "p": "pair of places inside a head, turned together by a rotation",
    "i": "place in the model width",
    "j": "place in the model width, a second one",
    "f": "hidden place of the MLP",
    "n": "vocabulary entry",
    "m": "vocabulary entry, a second one",
    "l": "layer",
}

# The size that a letter runs over where no array of the formula tells it.
SIZES = {"t": "n_queries", "s": "n_keys", "h": "n_heads", "g": "n_kv_heads", "c": "d_k",
         "p": "n_pairs", "i": "d_model", "j": "d_model", "f": "d_ff", "n": "vocab_size",
         "m": "vocab_size", "l": "n_layers"}  # fmt: skip

LEADING = "b"

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def record(cls: type[_T]) -> type[_T]:
    """Make a class a frozen record of named values: what layers, caches and gradients are.

    Two records are equal only if they are the same object: comparing arrays is a caller's decision.
    A record shows itself as its names, with the shape and dtype of each array.
    """
    cls.__repr__ = _shown  # type: ignore[method-assign]
    return dataclass(frozen=True, eq=False, repr=False)(cls)


def _shown(record: Any) -> str:
    lines = [type(record).__name__]
    for field in fields(record):
        part = getattr(record, field.name)
        if isinstance(part, np.ndarray):
            said = f"{part.dtype} {part.shape}"
        elif isinstance(part, tuple) and part:
            said = f"{len(part)} x {type(part[0]).__name__}"
        else:
            said = type(part).__name__ if is_dataclass(part) else repr(part)
        lines.append(f"  {field.name:<14} {said}")
    return "\n".join(lines)
