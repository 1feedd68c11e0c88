"""What came back: whether each array is there, whole, and of the right shape and type."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.live.asked import Asked, Form
from handformer.live.contract import Contract
from handformer.live.library import UNWRITTEN

AnyArray = NDArray[Any]


@dataclass(frozen=True)
class Answer:
    """One call's results.

    values
        those that can be compared, in the types that ours have
    problems
        what is wrong with a value as such: a sentence's end each, as in "y is float64, ..."
    missing
        what they left to us
    """

    values: Mapping[str, AnyArray]
    problems: Mapping[str, str]
    missing: tuple[str, ...]


def read(contract: Contract, asked: Asked, came: Mapping[str, AnyArray]) -> Answer:
    """Take an answer apart."""
    values, problems = dict[str, AnyArray](), dict[str, str]()
    missing = []
    for name, form in asked.forms.items():
        if form is None:
            continue
        array = came.get(name)
        if array is None or _untouched(array, form):
            missing.append(name)
            continue
        problem = _shape(array, form) or _type(array, form) or _holes(array, form)
        if problem:
            problems[name] = problem
        if array.shape == form.shape and array.dtype.kind in "fiub":
            values[name] = array.astype(form.dtype)
    needed = [contract.output] if contract.output else missing if not values else []
    for name in missing:
        if name in needed:
            problems[name] = "wasn't written"
    return Answer(values, problems, tuple(missing))


def nowhere_finite(found: AnyArray, right: AnyArray) -> str:
    """Where theirs is no number although it should be one; empty: nowhere."""
    wrong = ~np.isfinite(found) & np.isfinite(right)
    count = int(wrong.sum())
    if not count:
        return ""
    place = tuple(int(one) for one in np.argwhere(wrong)[0])
    kind = "NaN" if np.isnan(found[place]) else "infinity"
    return f"holds {kind} in {count} of {found.size} entries, first at {place}"


def _shape(array: AnyArray, form: Form) -> str:
    if array.shape == form.shape:
        return ""
    return f"has the shape {array.shape}, expected {form.shape}"


def _type(array: AnyArray, form: Form) -> str:
    if array.dtype.name == form.dtype:
        return ""
    if form.dtype == "bool" and array.dtype == np.uint8:
        strange = array[(array > 1) & (array != UNWRITTEN)]
        return f"holds {strange.flat[0]}, expected 0 or 1" if strange.size else ""
    hint = ": a float64 number among float32 ones does it" if array.dtype == np.float64 else ""
    return f"is {array.dtype.name}, expected {form.dtype}{hint}"


def _untouched(array: AnyArray, form: Form) -> bool:
    return array.size > 0 and array.shape == form.shape and bool(_unwritten(array, form).all())


def _holes(array: AnyArray, form: Form) -> str:
    count = int(_unwritten(array, form).sum())
    return f"has {count} of {array.size} entries that weren't written" if count else ""


def _unwritten(array: AnyArray, form: Form) -> NDArray[np.bool_]:
    """Where every byte is still what was there before."""
    if array.dtype.itemsize not in (1, 4, 8) or (form.dtype == "int64"):
        return np.zeros(array.shape, dtype=np.bool_)
    whole = np.ascontiguousarray(array).reshape(array.shape).view(f"u{array.dtype.itemsize}")
    found: NDArray[np.bool_] = whole == np.iinfo(whole.dtype).max
    return found
