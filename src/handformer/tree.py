"""Nested records as flat tables: every array by its dotted path, and back again.

flatten(model)                 {"blocks.0.attention.w_q": array, ...}
flatten(cache)                 {"blocks.0.attention.scores": array, ...}
gradients(back)                {"blocks.0.attention.d_scores": array, ...}
replace(model, {path: array})  the same model with other weights
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from handformer.axes import Array

T = TypeVar("T")

PARAMS = "params"
_PLAIN = {type(None), bool, int, float, str}


def children(node: Any) -> Iterator[tuple[str, Any]]:
    """The named parts of a record, or the numbered ones of a tuple, in their order."""
    if isinstance(node, tuple):
        yield from ((str(place), part) for place, part in enumerate(node))
    elif not isinstance(node, type):
        yield from ((name, getattr(node, name)) for name in _fields(node.__class__))


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def join(*parts: str) -> str:
    """A dotted path from its parts; empty ones vanish."""
    return ".".join(part for part in parts if part)


def walk(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every record, array and setting below `node`, itself included, parents before children."""
    yield path, node
    for name, part in children(node):
        yield from walk(part, join(path, name))


def flatten(node: Any) -> dict[str, Array]:
    """Every array below `node` by its dotted path."""
    found: dict[str, Array] = {}

    def gather(node: Any, path: str) -> None:
        if isinstance(node, np.ndarray):
            found[path] = node
        else:  # a training step does this often: numbers and strings are passed over at once
            for name, part in children(node):
                if part.__class__ not in _PLAIN:
                    gather(part, f"{path}.{name}" if path else name)

    gather(node, "")
    return found


def gradients(back: Any, path: str = "") -> dict[str, Array]:
    """Every gradient below `back` by dotted path; that of a weight `w` stands beside it as `d_w`.

    A layer made of layers has a `params` record too; its nested records are those of the parts,
    which have been visited there, so only the arrays it holds itself are taken. The order is that
    of the computation: fields as they stand, but a tuple of blocks from the last to the first.
    """
    found: dict[str, Array] = {}
    parts = list(children(back))
    for name, part in reversed(parts) if isinstance(back, tuple) else parts:
        if isinstance(part, np.ndarray):
            found[join(path, name)] = part
        elif name == PARAMS:
            own = {f"d_{n}": a for n, a in children(part) if isinstance(a, np.ndarray)}
            found |= {join(path, n): a for n, a in own.items()}
        else:
            found |= gradients(part, join(path, name))
    return found


def transform(node: T, change: Callable[[str, Array], Array], path: str = "") -> T:
    """The same tree with every array put through `change(path, array)`."""
    if isinstance(node, np.ndarray):
        return change(path, node)  # type: ignore[return-value]
    if isinstance(node, tuple):
        parts = (transform(part, change, join(path, name)) for name, part in children(node))
        return type(node)(parts)
    if is_dataclass(node):
        changed = {name: transform(p, change, join(path, name)) for name, p in children(node)}
        return type(node)(**changed)  # type: ignore[misc]
    return node


def replace(node: T, arrays: Mapping[str, Array]) -> T:
    """The same tree with each array taken from `arrays` by its path.

    Raises
    ------
    ValueError
        where a path is missing, left over, or of another shape
    """
    have = flatten(node)
    missing, extra = sorted(have.keys() - arrays.keys()), sorted(arrays.keys() - have.keys())
    if missing or extra:
        raise ValueError(f"arrays don't fit: missing {missing[:3]}, unexpected {extra[:3]}")
    for path, array in have.items():
        if arrays[path].shape != array.shape:
            raise ValueError(f"{path} has shape {arrays[path].shape}, expected {array.shape}")
    return transform(node, lambda path, _: arrays[path])


def cast(node: T, dtype: Any) -> T:
    """The same tree with its floating-point arrays in another dtype."""

    def change(_: str, array: Array) -> Array:
        return array.astype(dtype) if np.issubdtype(array.dtype, np.floating) else array

    return transform(node, change)
