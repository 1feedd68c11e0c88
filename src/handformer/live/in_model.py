"""A small model with theirs in place of ours: how far the loss and every gradient are off.

What rounding explains is measured: the same model in float32 with our ops, its weights moved by a
rounding to and fro, is so far from the one in float64; a margin is added.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import handformer.ops as plain
from handformer import tree
from handformer.live.answer import nowhere_finite, read
from handformer.live.asked import Asked, ask, bound, named
from handformer.live.contestant import Contestant
from handformer.live.contract import Contract
from handformer.live.models import candidates, in_dtype
from handformer.live.report import InModel, Reached
from handformer.live.stand_in import with_theirs
from handformer.ops.cross_entropy import IGNORED
from handformer.selfcheck.cases.models import ModelCase
from handformer.tracing.passing import LOSS, Pass, both_ways

AnyArray = NDArray[Any]
MOVES = 4
MARGIN = 8.0  # their order of sums is another one than ours
_SMALLEST = 1e-3  # where all entries are smaller, differences are relative to this
_UNIT = float(np.finfo(np.float32).eps) / 2


class _WrongError(Exception):
    """A call whose result can't go on into the model."""


def reached(contract: Contract, theirs: Contestant, seed: int) -> Iterator[InModel]:
    """Each model in which the op stands, with theirs in its place.

    Raises
    ------
    BrokenError
        where theirs can't go on
    """
    any_yet = False
    for family, cases in candidates(seed):
        if family == "other" and any_yet:
            return
        for case in cases:
            if _calls(contract, case, seed):
                any_yet = True
                yield _one(contract, theirs, case, seed)
                break


def _calls(contract: Contract, case: ModelCase, seed: int) -> int:
    """How often a model calls the op."""
    count = 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        return getattr(contract.op, contract.direction)(*args, **kwargs)

    _pass(in_dtype(case, np.float32), seed, with_theirs(contract, counted))
    return count


def _one(contract: Contract, theirs: Contestant, case: ModelCase, seed: int) -> InModel:
    narrow, calls = in_dtype(case, np.float32), 0
    right = _values(_pass(in_dtype(case, np.float64), seed, plain))

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        real = getattr(contract.op, contract.direction)(*args, **kwargs)
        return _called(contract, theirs, bound(contract, *args, **kwargs), real, calls)

    try:
        made = _pass(narrow, seed, with_theirs(contract, function))
    except _WrongError as error:
        return InModel(
            case.label, calls, float("nan"), float(right[f"{LOSS}.loss"]), (), str(error)
        )
    found = _values(made)
    ours = _errors(_values(_pass(narrow, seed, plain)), right)
    moved = [_errors(_values(_pass(one, seed, plain)), right) for one in _moved(narrow, seed)]
    errors = _errors(found, right)
    values = tuple(
        Reached(path, errors[path], ours[path],
                MARGIN * (max(one[path] for one in (ours, *moved)) + _UNIT))
        for path in right
    )  # fmt: skip
    loss = f"{LOSS}.loss"
    return InModel(case.label, calls, float(found[loss]), float(right[loss]), values)


def _called(
    contract: Contract, theirs: Contestant, arguments: dict[str, Any], real: Any, number: int
) -> Any:
    """What theirs makes of a call inside the model, in the form that ours has."""
    asked = ask(contract, arguments, real)
    answer = read(contract, asked, theirs.call(asked))
    if answer.problems:
        name, problem = next(iter(answer.problems.items()))
        raise _WrongError(f"{name} {problem} (call {number})")
    ours = named(contract, real)
    for name, array in answer.values.items():
        if odd := nowhere_finite(array, np.asarray(ours[name])):
            raise _WrongError(f"{name} {odd} (call {number}){_infinite(asked)}")
    parts = {**ours, **answer.values}
    if not isinstance(real, tuple):
        return parts[contract.gives[0]]
    make: Callable[..., Any] = getattr(type(real), "_make", tuple)
    return make(parts[name] for name in contract.gives)


def _infinite(asked: Asked) -> str:
    """Which inputs aren't finite, as a hint."""
    given = {name: array for name, array in asked.arrays.items() if array is not None}
    odd = [name for name, array in given.items() if not np.isfinite(array).all()]
    return f"; {', '.join(odd)} holds -inf there, where the mask hides" if odd else ""


def _pass(case: ModelCase, seed: int, ops: Any) -> Pass:
    tokens = case.inputs["tokens"]
    targets = np.random.default_rng(seed).integers(case.model.config.vocab_size, size=tokens.shape)
    targets = np.where(case.inputs.get("valid", np.True_), targets, IGNORED)
    targets[0, -1] = IGNORED
    with np.errstate(all="ignore"):  # what theirs makes of numbers is told in other words
        return both_ways(case.model, case.inputs, targets, ops=ops, drop=case.drop)


def _values(made: Pass) -> dict[str, AnyArray]:
    return {f"{LOSS}.loss": np.asarray(made.last["loss"])} | made.gradients


def _errors(found: dict[str, AnyArray], right: dict[str, AnyArray]) -> dict[str, float]:
    return {path: _error(found[path], array) for path, array in right.items()}


def _error(found: AnyArray, right: AnyArray) -> float:
    """The greatest difference relative to the greatest entry; infinite where one is no number."""
    with np.errstate(all="ignore"):
        off = np.abs(found.astype(np.float64) - right).max(initial=0)
    scale = max(float(np.abs(right).max(initial=0)), _SMALLEST)
    return float(off) / scale if np.isfinite(off) else float("inf")


def _moved(case: ModelCase, seed: int) -> Iterator[ModelCase]:
    """The model with every weight moved by a rounding."""
    rng = np.random.default_rng(seed)

    def move(_: str, array: AnyArray) -> AnyArray:
        if array.dtype.kind != "f":
            return array
        signs = rng.choice([-1, 1], size=array.shape).astype(array.dtype)
        moved: AnyArray = array * (1 + signs * array.dtype.type(2 * _UNIT))
        return moved

    for _ in range(MOVES):
        yield replace(case, layer=tree.transform(case.layer, move))
