"""One call of an op: what it is given, and what is to come back, without any numbers of ours."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from handformer.live.contract import Contract

AnyArray = NDArray[Any]


class Form(NamedTuple):
    """The type and the shape that an array is to have."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Asked:
    """The arguments of one call by name, in the order of the contract.

    An array that is None is a part that this model doesn't have; so is a form.
    """

    arrays: Mapping[str, AnyArray | None]
    scalars: Mapping[str, float]
    forms: Mapping[str, Form | None]


def ask(contract: Contract, arguments: Mapping[str, Any], real: Any) -> Asked:
    """The call of an op with these arguments; `real` is what ours made of them."""
    arrays = {
        name: None if arguments[name] is None else _own(arguments[name]) for name in contract.takes
    }
    scalars = {name: float(arguments[name]) for name in contract.scalars}
    forms = {name: None if one is None else Form(one.dtype.name, one.shape)
             for name, one in named(contract, real).items()}  # fmt: skip
    return Asked(arrays, scalars, forms)


def bound(contract: Contract, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments of a call by name, defaults among them."""
    function = getattr(contract.op, contract.direction)
    found = inspect.signature(function).bind(*args, **kwargs)
    found.apply_defaults()
    return dict(found.arguments)


def named(contract: Contract, result: Any) -> dict[str, AnyArray | None]:
    """What ours returned, by name; None for a part that isn't there."""
    parts = result if isinstance(result, tuple) else (result,)
    arrays = (None if part is None else np.asarray(part) for part in parts)
    return dict(zip(contract.gives, arrays, strict=True))


def _own(array: Any) -> AnyArray:
    """In C order, in memory of its own, whatever view it was; a plain number as float32."""
    found = np.array(array, order="C")
    return found.astype(np.float32) if found.dtype == np.float64 and found.ndim == 0 else found
