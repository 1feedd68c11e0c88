"""A sum of products, without writing its terms out: a matrix product is one.

    sum(i, x[b,t,i] * w[i,j])            x and w are far smaller than the terms, one a (b, t, i, j)
    sum(t, where(ids[t] == n, y[t], 0))  so is a condition beside what it chooses

What is a product here is plain arithmetic: a factor, a divisor, a minus, and `where(.., .., 0)`,
whose condition is a factor of 0 and 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.expression import Call, Negative, Node, Number, Operation, free

_AnyArray = NDArray[Any]
WORTH = 4096  # terms: fewer are as quickly written out


@dataclass(frozen=True)
class Factor:
    """One factor of a product; `choice`: a condition, which counts as 0 or 1."""

    node: Node
    choice: bool = False


def factors(body: Node) -> list[Factor]:
    """The factors of a product, each of them something else."""
    match body:
        case Operation(operator="*", left=left, right=right):
            return factors(left) + factors(right)
        case Operation(operator="/", left=left, right=right):
            return [*factors(left), Factor(Operation("/", Number(1), right))]
        case Negative(part=part):
            return [Factor(Number(-1)), *factors(part)]
        case Call(function="where", arguments=(condition, yes, Number(value=0))):
            return [Factor(condition, choice=True), *factors(yes)]
    return [Factor(body)]


def pays(found: Sequence[Factor], over: Sequence[str], length: Callable[[str], int]) -> bool:
    """Whether no factor is as large as the terms are: then they needn't be written out."""
    letters = [free(one.node) for one in found]
    every = frozenset(over).union(*letters)
    terms = _product(every, length)
    return terms >= WORTH and all(4 * _product(each, length) <= terms for each in letters)


def _product(letters: frozenset[str], length: Callable[[str], int]) -> int:
    return prod(map(length, letters))


def contract(
    arrays: Sequence[_AnyArray],
    over: Sequence[int],
    lengths: Sequence[int],
    dtype: Any = np.float64,
) -> _AnyArray:
    """The sum over some axes of the product of arrays that broadcast; those axes stay, of length 1.

    Each array has an axis for every letter, of length 1 where it doesn't depend on it; `lengths`
    are those of the terms.
    """
    operands: list[Any] = []
    known: set[int] = set()
    for array in arrays:
        whole = array.reshape((1,) * (len(lengths) - array.ndim) + array.shape)
        own = [axis for axis, size in enumerate(whole.shape) if size > 1]
        known |= {*own}
        operands += [
            whole.reshape([whole.shape[axis] for axis in own]).astype(dtype, copy=False),
            own,
        ]
    times = prod(lengths[axis] for axis in over if axis not in known)  # equal terms
    out = sorted(known - {*over})
    found = np.einsum(*operands, out, optimize=True) * times
    shape = [1] * len(lengths)
    for axis, size in zip(out, np.shape(found), strict=True):
        shape[axis] = size
    return np.asarray(found).reshape(shape)
