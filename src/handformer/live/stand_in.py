"""The ops with another function in one place, also inside of those ops that are made of it.

An op that calls another looks it up among the names of its own module. So theirs reaches the inside
by giving every op of which it is a part new names: the same code, other modules behind them.
"""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, BoolArray
from handformer.live.contract import Contract
from handformer.ops import masked_softmax, softmax

_OPS = plain.__name__


def with_theirs(contract: Contract, theirs: Callable[..., Any]) -> ModuleType:
    """All plain ops, with theirs for one direction of one of them."""
    put: dict[ModuleType, dict[str, Callable[..., Any]]] = {
        contract.op: {contract.direction: theirs}
    }
    if contract.op is softmax and contract.direction == "forward":
        put[masked_softmax] = {"forward": _masked(theirs)}
    return _Clones(put).of(plain)


class _Clones:
    def __init__(self, put: dict[ModuleType, dict[str, Any]]) -> None:
        self._put = put
        self._made: dict[ModuleType, ModuleType] = {}

    def of(self, module: ModuleType) -> ModuleType:
        """The module itself, or a copy of it where theirs is somewhere inside."""
        if module not in self._made:
            self._made[module] = self._copy(module)
        return self._made[module]

    def _copy(self, module: ModuleType) -> ModuleType:
        names = vars(module)
        put = dict(self._put.get(module, {}))
        if not put:
            for name, part in names.items():
                if isinstance(part, ModuleType) and part.__name__.startswith(f"{_OPS}."):
                    other = self.of(part)
                    if other is not part:
                        put[name] = other
        if not put:
            return module
        copy = ModuleType(module.__name__, module.__doc__)
        vars(copy).update({**names, **put})
        if module not in self._put:
            for name, part in names.items():
                if isinstance(part, FunctionType) and part.__globals__ is names:
                    setattr(copy, name, _again(part, vars(copy)))
        return copy


def _again(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """The same code, which finds its names elsewhere."""
    made = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return made


def _masked(theirs: Callable[[Array], Array]) -> Callable[[Array, BoolArray], Array]:
    """A softmax under a mask, made of a plain one: hidden entries are -inf.

    A row without a visible entry isn't theirs to do: they get zeros there.
    """

    def forward(x: Array, mask: BoolArray) -> Array:
        visible = np.where(mask, x, -np.inf)
        seen = (visible > -np.inf).any(axis=-1, keepdims=True)
        return np.where(seen, theirs(np.where(seen, visible, 0)), 0)

    return forward
