"""The axes' letters, the array types, and `@record`, the form of every cache and every layer."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from handformer.aliases import find

Array = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

LEGEND = {
    "b": "batch: any number of leading axes, none included",
    "e": "example of a batch that has one axis, to be calculated with",
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
SIZES = {"e": "n_batch", "t": "n_queries", "s": "n_keys", "h": "n_heads", "g": "n_kv_heads",
         "c": "d_k", "p": "n_pairs", "i": "d_model", "j": "d_model", "f": "d_ff", "n": "vocab_size",
         "m": "vocab_size", "l": "n_layers"}  # fmt: skip

LEADING = "b"

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def record(cls: type[_T]) -> type[_T]:
    """Make a class a frozen record of named values: what layers, caches and gradients are.

    Two records are equal only if they are the same object: comparing arrays is a caller's decision.
    A record shows itself as its names, with the shape and dtype of each array, and in a notebook
    with small pictures of them. A value deep inside is reached by its path,
    `cache["blocks.3.attention.attn"]`, or by the name that others give it (see `aliases`); a
    weight's gradient by `back["blocks.3.attention.d_w_q"]`.
    """
    cls.__repr__ = _shown  # type: ignore[method-assign]
    cls._repr_html_ = _in_notebook  # type: ignore[attr-defined]
    cls.__getitem__ = _found  # type: ignore[index]
    cls.__contains__ = _holds  # type: ignore[operator]
    cls.__iter__ = None  # type: ignore[attr-defined]  # or Python would ask for record[0], record[1]
    return dataclass(frozen=True, eq=False, repr=False)(cls)


def _found(record: Any, path: str) -> Any:
    if not isinstance(path, str):
        raise KeyError(f"{path!r} is no path")
    part = _at(record, path)
    if part is None:
        ours = find(path, record)
        if ours is None:
            raise KeyError(f"{type(record).__name__} holds no {path}")
        part = _at(record, ours)
    return part


def _holds(record: Any, path: str) -> bool:
    return isinstance(path, str) and _at(record, path) is not None


def _at(node: Any, path: str) -> Any:
    """What stands at a path, or None."""
    for name in path.split("."):
        if isinstance(node, tuple):
            node = node[int(name)] if name.isdecimal() and int(name) < len(node) else None
        elif name in getattr(node, "__dataclass_fields__", {}):
            node = getattr(node, name)
        else:  # the gradient of a weight, or nothing
            own = getattr(node, "params", None) if name.startswith("d_") else None
            node = getattr(own, name[2:], None)
    return node


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


def _in_notebook(record: Any) -> str:
    from handformer import notebook  # noqa: PLC0415  # only a notebook asks

    return notebook.record(record)
