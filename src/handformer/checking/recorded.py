"""Ops that remember what they were given and what they returned.

A model that reads on from a past keeps no record of its values. But it calls the same ops with the
same weights as in a whole pass, in the same order. So whatever an op sees there can be held against
what it saw here.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import handformer.ops as plain
from handformer.tracing.seen import place

AnyArray = NDArray[Any]

# Called in one of the two ways only, though they compute the same.
_NOT_IN_BOTH = ("add", "dropout", "cross_entropy")


class Recorder:
    """Remembers each call of `ops.<name>.forward` by the op's name and the weights it was given."""

    def __init__(self, ops: ModuleType, weights: Mapping[Hashable, str]) -> None:
        """`weights`: the paths of the model's arrays by where they lie (`seen.place`)."""
        self._weights = weights
        self._calls: dict[tuple[Any, ...], list[list[AnyArray]]] = {}
        self.ops = ModuleType(f"{__name__}.ops")
        for name in plain.__all__:
            part = getattr(ops, name)
            seen = name != "masks" and name not in _NOT_IN_BOTH
            setattr(self.ops, name, self._op(name, part) if seen else part)

    def _op(self, name: str, op: ModuleType) -> ModuleType:
        copy = ModuleType(op.__name__)
        vars(copy).update({key: part for key, part in vars(op).items() if key[:2] != "__"})
        copy.forward = self._remembering(name, op.forward)  # type: ignore[attr-defined]
        return copy

    def _remembering(self, name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(forward)
        def called(*given: Any) -> Any:
            made = forward(*given)
            results = made if isinstance(made, tuple) else (made,)
            arrays = [part for part in (*given, *results) if isinstance(part, np.ndarray)]
            known = tuple(self._weights.get(place(part), "") for part in arrays)
            seen = [part for part, path in zip(arrays, known, strict=True) if not path]
            self._calls.setdefault((name, known), []).append(seen)
            return made

        return called

    def pairs(
        self, whole: "Recorder", after: "Recorder | None" = None
    ) -> Iterator[tuple[AnyArray, AnyArray]]:
        """Each array of these calls, and what stands in its place in a whole pass.

        `after`: calls that were made before these.
        """
        for key, calls in self._calls.items():
            first = 0 if after is None else len(after._calls.get(key, ()))
            for mine, theirs in zip(calls, whole._calls.get(key, [])[first:], strict=False):
                yield from zip(mine, theirs, strict=True)
