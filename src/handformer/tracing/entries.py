"""What the manifest says of each value: its path, axes, formula and tolerance."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.formula import Formula
from handformer.formula.expression import Entry, Index, Scalar, walk
from handformer.formula.rounding import roundings
from handformer.tracing.manifest import Value
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Found
from handformer.tracing.stated import Stated

AnyArray = NDArray[Any]
_LENS = {"lens.tokens": "lbtk", "lens.probs": "lbtk", "lens.target": "lbt"}


class Entries:
    """The values of a pass, as its layers' sheets state them."""

    def __init__(self, told: Stated, placed: Sequence[Scope], found: Sequence[Found]) -> None:
        """`placed` are all layers where they stand; `found` all values."""
        self._told = told
        self._scopes = {scope.path: scope for scope in placed}
        self._of = {  # the scope of each path that has a formula
            tree.join(scope.path, formula.name): scope.path
            for scope in placed
            for formula in scope.sheet
            if formula.kept
        }
        self._bodies = {
            tree.join(scope.path, formula.name): (scope.path, formula.body)
            for scope in placed
            for formula in scope.sheet
        }
        self._arrays = {path: one.array for one in found for path in one.paths}

    def path(self, found: Found) -> str:
        """Where a value is made: the first path with a formula, or else the first.

        A formula that only hands on another of its own paths makes nothing: the gradient of a table
        that is used once is that of its look-up.
        """
        if found.kind == "input":
            return found.paths[0]
        stated = [path for path in found.paths if path in self._of]
        making = (path for path in stated if self._handed_on(path) not in found.paths)
        return next(making, (stated or found.paths)[0])

    def _handed_on(self, path: str) -> str | None:
        """The value that a formula consists of, if it is nothing else."""
        scope, body = self._bodies[path]
        return tree.join(scope, body.name) if isinstance(body, Entry) else None

    def value(self, found: Found) -> Value:
        """The entry of one value."""
        path, array = self.path(found), found.array
        scope = self._of.get(path)
        letters = (self._told.axes[one] for one in found.paths if one in self._told.axes)
        if scope is None:
            axes = tuple(_LENS.get(path) or next(letters, ()))
        else:
            axes = self._told.formulas[path].axes
        outside = scope is None and found.kind == "value"
        return Value(
            path=path,
            kind="input" if outside else found.kind,
            axes=axes,
            shape=array.shape,
            dtype=array.dtype.name,
            also=tuple(one for one in found.paths if one != path),
            scope=scope,
            source=_along_source(path, axes),
            tolerance=None if scope is None else self._tolerance(path, self._scopes[scope], array),
        )

    def _tolerance(self, path: str, scope: Scope, array: AnyArray) -> float | None:
        if array.dtype.kind != "f":
            return None
        formula = self._told.formulas[path]
        sizes = dict(zip(formula.axes, array.shape, strict=True))
        self._sizes(formula, scope, sizes)
        unit = float(np.finfo(array.dtype).eps) / 2
        return roundings(scope.sheet, formula, sizes) * unit

    def _sizes(self, formula: Formula, scope: Scope, sizes: dict[str, int]) -> None:
        """How far the letters of a formula run, and those of the abbreviations in it."""
        for node in walk(formula.body):
            if not isinstance(node, Entry | Scalar):
                continue
            if node.name in scope.sheet and not scope.sheet[node.name].kept:
                self._sizes(scope.sheet[node.name], scope, sizes)
            array = self._arrays.get(tree.join(scope.path, node.name))
            if isinstance(node, Entry) and array is not None:
                for place, size in zip(node.indices, array.shape, strict=True):
                    if isinstance(place, Index):
                        sizes.setdefault(place.letter, size)


def _along_source(path: str, axes: Sequence[str]) -> tuple[str, ...]:
    """The axes along the source: all positions of its side, and the keys of those who look at it.

    Only an encoder-decoder has such paths.
    """
    if path.startswith(("source", "encoder.")) or path == "d_source_x":
        return tuple(letter for letter in axes if letter in "tsru")
    *_, part, name = ("", "", *path.split("."))
    looking = part == "cross" or "memory" in name
    return tuple(letter for letter in axes if letter in "sru") if looking else ()


def repeated(found: Sequence[Found], told: Stated) -> Iterator[Formula]:
    """Formulas for what is another value seen along further axes, as each head's mask is."""
    whole: dict[Any, tuple[str, AnyArray]] = {}
    for one in found:
        path = next((path for path in one.paths if path in told.axes), None)
        if path is None:
            continue
        letters, start = told.axes[path], _start(one.array)
        if start in whole and told.formulas.keys().isdisjoint(one.paths):
            base, array = whole[start]
            places = _places(array, told.axes[base], one.array, letters)
            if places is not None:
                yield from (Formula.build(p, letters, Entry(base, places)) for p in one.paths)
        else:
            whole.setdefault(start, (path, one.array))


def _start(array: AnyArray) -> tuple[int, str]:
    return array.__array_interface__["data"][0], array.dtype.str


def _places(
    base: AnyArray, own: tuple[str, ...], view: AnyArray, letters: tuple[str, ...]
) -> tuple[Index, ...] | None:
    """Along which letter of the view each axis of the base runs: the same step in memory."""
    steps = dict(zip(letters, zip(view.shape, view.strides, strict=True), strict=True))
    places = []
    for letter, size, step in zip(own, base.shape, base.strides, strict=True):
        fitting = [one for one, walked in steps.items() if walked == (size, step)]
        if size == 1:  # no step is ever taken
            fitting = [one for one in (letter,) if steps.get(one, (0,))[0] == 1]
        if not fitting or (not step and size > 1):
            return None
        places.append(Index(fitting[0]))
    return tuple(places)
