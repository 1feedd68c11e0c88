"""A case: a trace whose formulas are looked at as the steps of a computation.

The same numbers may be seen under several paths (a norm's `out` is the attention's `x`): a step is
known by the first of them.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from handformer.axes import SIZES
from handformer.formula import Formula, Sheet
from handformer.formula.expression import Entry, Index, Scalar
from handformer.tracing.cost import mentioned
from handformer.tracing.manifest import Placed, Value
from handformer.tracing.trace import Trace

BLOCK, FIRST, MODEL, LATER = "block.", "first.", "model.", "later."
RIGHT, GIVEN = "right.", "given."


@dataclass(frozen=True)
class Step:
    """One value where it is made: by a formula of its scope's sheet, or from outside.

    name
        what the scope's sheet calls it
    """

    path: str
    value: Value
    scope: str
    name: str
    formula: Formula | None


class Case:
    """A trace, as steps."""

    def __init__(self, trace: Trace) -> None:
        """`trace`: weights, inputs, and everything that is expected."""
        self.trace = trace
        self.placed: Mapping[str, Placed] = {p.path: p for p in trace.manifest.scopes}
        self._parents: dict[str, list[str]] = {}
        self._given: dict[str, Sheet] = {}
        self.editions: dict[Hashable, Sheet | None] = {}  # sheets with mistakes, made once
        self._steps = {v.path: self._step(v) for v in trace.manifest.values if v.kept}

    def _step(self, value: Value) -> Step:
        if value.scope is None:
            scope = self._around(value.path)
            name = _inside(value.path, scope)
            if any(part.isdigit() for part in name.split(".")):  # no formula could name it so
                name = name.rpartition(".")[2]
            return Step(value.path, value, scope, name, None)
        name = _inside(value.path, value.scope)
        return Step(value.path, value, value.scope, name, self.trace.sheet(value.scope)[name])

    def _around(self, path: str) -> str:
        """The path of the nearest layer around a value."""
        while path:
            path = path.rpartition(".")[0]
            if path in self.placed:
                return path
        return ""

    def __iter__(self) -> Iterator[Step]:
        """The steps, in the order of the computation."""
        return iter(self._steps.values())

    def __getitem__(self, path: str) -> Step:
        """The step that makes the value at a path."""
        return self._steps[path]

    def order(self, path: str) -> int:
        """Where a value stands in the order of the computation."""
        return self._order[path]

    @cached_property
    def _order(self) -> dict[str, int]:
        return {path: place for place, path in enumerate(self._steps)}

    def find(self, scope: str, name: str) -> str | None:
        """The path of what a formula of a scope calls `name`; None: there is no such value."""
        if name.startswith(BLOCK):
            scope, name = self.block(scope), name.removeprefix(BLOCK)
        elif name.startswith(FIRST):
            scope, name = self.first(scope), name.removeprefix(FIRST)
        elif name.startswith((GIVEN, LATER)):
            name = name.partition(".")[2]
        elif name.startswith(MODEL):
            scope, name = "", name.removeprefix(MODEL)
        entry = self.trace.known(f"{scope}.{name}" if scope else name)
        return entry.path if entry is not None and entry.path in self._steps else None

    def block(self, scope: str) -> str:
        """The path of the block around a layer."""
        at = scope
        while at and not self.placed[at].layer.endswith("Block"):
            at = self._around(at)
        return at

    def first(self, scope: str) -> str:
        """The path of the same layer in the first block of its stack."""
        block = self.block(scope)
        return f"{block.rpartition('.')[0]}.0{scope.removeprefix(block)}" if block else scope

    def sheet(self, step: Step) -> Sheet:
        """The formulas among which a step's own stands.

        That of what comes from outside says just that: `w_q[i,j] = given.w_q[i,j]`.
        """
        if step.formula is not None:
            return self.trace.sheet(step.scope)
        if step.path not in self._given:
            axes, name = step.value.axes, GIVEN + step.name
            given = Entry(name, tuple(map(Index, axes))) if axes else Scalar(name)
            self._given[step.path] = Sheet((Formula.build(step.name, axes, given),))
        return self._given[step.path]

    def sheet_of(self, step: Step) -> Hashable:
        """What tells a step's sheet apart: equal layers have one."""
        return step.path if step.formula is None else self.placed[step.scope].sheet

    def layer(self, scope: str) -> str:
        """The class of the layer at a path."""
        return self.placed[scope].layer if scope in self.placed else ""

    def parents(self, step: Step) -> list[str]:
        """The paths of the values that a step's formula mentions."""
        if step.formula is None:
            return []
        if step.path not in self._parents:
            self._parents[step.path] = self.mentioned(step, self.sheet(step))
        return self._parents[step.path]

    def mentioned(self, step: Step, sheet: Sheet) -> list[str]:
        """The same with another sheet in the place of the step's own; what is given isn't made."""
        names = mentioned(sheet, sheet[step.name])
        found = (
            self.find(step.scope, name) for name in names if not name.startswith((GIVEN, LATER))
        )
        return [path for path in dict.fromkeys(found) if path is not None]

    def users(self, path: str) -> list[Step]:
        """The steps whose formulas mention a value."""
        return self._users.get(path, [])

    @cached_property
    def _users(self) -> dict[str, list[Step]]:
        found: dict[str, list[Step]] = {}
        for step in self:
            for parent in self.parents(step):
                found.setdefault(parent, []).append(step)
        return found

    def scalars(self, step: Step) -> dict[str, Any]:
        """Every number that an edit of a step's formula may mention."""
        own = dict(zip(step.value.axes, step.value.shape, strict=True))
        known = {**SIZES, "b": "n_batch"}
        told = {letter for letter, name in known.items() if name != "d_model"} & own.keys()
        sizes = {known[letter]: own[letter] for letter in told}
        return {**self._numbers, **sizes, **self.placed[step.scope].scalars}

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        """The config's numbers, and the sizes of the batch."""
        config = self.trace.manifest.config or {}
        found = {k: v for k, v in config.items() if isinstance(v, int | float)}
        for scope in self.placed.values():
            found = {**{k: v for k, v in scope.scalars.items() if "." not in k}, **found}
        tokens = self.trace.known("tokens")
        if tokens is not None:
            shape = tokens.shape
            found |= {"n_batch": prod(shape[:-1]), "n_queries": shape[-1], "n_keys": shape[-1]}
            return {**found, "n_tokens": prod(shape)}
        lengths = {
            letter: size
            for step in self
            for letter, size in zip(step.value.axes, step.value.shape, strict=True)
            if letter in "bts"
        }
        told = {"b": "n_batch", "t": "n_queries", "s": "n_keys"}
        sizes = {told[letter]: size for letter, size in lengths.items()}
        tokens_ = prod(lengths.get(letter, 1) for letter in "bt")
        return {"n_tokens": tokens_, **sizes, **found}


def _inside(path: str, scope: str) -> str:
    return path.removeprefix(f"{scope}.") if scope else path
