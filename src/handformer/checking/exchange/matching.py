"""Their arrays under our paths: whose names they are, and how each becomes what we have there."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.exchange import lens, published, stacked
from handformer.checking.exchange.arrange import arrange, axes
from handformer.checking.exchange.dump import Dump, Dumped
from handformer.checking.exchange.near import Near
from handformer.checking.exchange.place import (
    Aside,
    Case,
    Found,
    Place,
    path_of,
    without_gradient,
)
from handformer.checking.exchange.table import Table
from handformer.checking.theirs import Theirs
from handformer.errors import InputError
from handformer.models.config import ModelConfig
from handformer.tracing.manifest import Value
from handformer.tracing.trace import Trace

MASKED = "what the mask hides has no meaning in it"


@dataclass(frozen=True)
class Matched:
    """A dump by our paths.

    found
        one array a value, by the path where it is made
    copies
        by a path where the same numbers are seen again: arrays that are a copy in the reference,
        and that differ from what they wrote where it is made
    unknown
        their names that nothing here goes by, with the near paths
    aside
        their names that are known, and why nothing in the case goes by them
    """

    found: dict[str, Theirs] = field(default_factory=dict)
    copies: dict[str, Theirs] = field(default_factory=dict)
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)


def match(dump: Dump, trace: Trace, table: Table | None = None) -> Matched:
    """Find our path for each of their names, and bring each array into our order of axes.

    Only what a name says is done to an array: a wrong shape or order stays as it is.

    Raises
    ------
    InputError
        where two of their names are one path and hold different numbers, or the table doesn't fit
    """
    case = case_of(trace)
    table = table or Table()
    table.require_fit(case)
    near = Near(case.known)
    matched, held = Matched(), dict[str, Theirs]()
    for name in dump:
        found = find(name, case, table)
        if found is None:
            matched.unknown[name] = near.find(name)
        elif isinstance(found, Aside):
            matched.aside[name] = found.why
        else:
            dumped = dump[name]
            for place in found:
                theirs = _theirs(dumped, place, case.known[place.path], table, trace)
                held[place.path] = _once(dump, held.get(place.path), theirs)
    for value in trace.manifest.values:
        _keep(value, held, matched)
    return matched


def case_of(trace: Trace) -> Case:
    """What the names in a trace are looked up in."""
    config = trace.manifest.config
    return Case(
        {path: value for value in trace.manifest.values for path in (value.path, *value.also)},
        None if config is None else ModelConfig.read(config),
    )


def find(name: str, case: Case, table: Table) -> Found:
    """Our places for a name, by whichever convention knows it first; None: none does."""
    said = table.find(name, case)
    if said is not None:
        return said
    plain = name.replace("/", ".")
    answers = (convention(plain, case) for convention in _CONVENTIONS)
    return next((answer for answer in answers if answer is not None), None)


def _own(name: str, case: Case) -> Found:
    plain, is_gradient = without_gradient(name)
    paths = (name, path_of(plain, is_gradient))
    found = next(((Place(path),) for path in paths if path in case.known), None)
    if found is None and name.startswith("lens."):
        return Aside("what each layer would have predicted, which a case leaves out")
    return found


_CONVENTIONS: tuple[Callable[[str, Case], Found], ...] = (
    _own, lens.find, published.find, stacked.find
)  # fmt: skip


def _theirs(dumped: Dumped, place: Place, value: Value, table: Table, trace: Trace) -> Theirs:
    notes = [place.note] if place.note else []
    array, order = dumped.array, ""
    try:
        array = place.part(array)
    except (IndexError, ValueError):
        notes = ["not of the shape that its name says"]
    else:
        array, order = _in_our_order(array, place, value, table.order(place.path, value), notes)
    quantum = dumped.quantum
    if place.inverse and array.dtype.kind == "f":
        with np.errstate(divide="ignore", over="ignore"):
            array = 1 / array.astype(np.float64)
        slope = np.square(array)
        quantum *= float(slope.max(initial=0, where=np.isfinite(slope)))
    if place.masked:
        array = _hidden(array, place.path, trace)
        notes.append(MASKED)
    array, unit = _typed(array, dumped.unit, value)
    said = tuple(axis[0] if len(axis) == 1 else f"({' '.join(axis)})" for axis in axes(order))
    return Theirs(value.path, dumped.name, array, unit, quantum, said, "; ".join(notes))


def _in_our_order(
    array: NDArray[Any], place: Place, value: Value, own: str, notes: list[str]
) -> tuple[NDArray[Any], str]:
    """The array with its axes moved, and the order in which it was written; `own` is the reader's.

    A note is made of what was done, or why it couldn't be.
    """
    theirs, ours = (own, " ".join(value.axes)) if own else (place.axes, place.ours)
    if theirs == ours:
        return array, theirs
    arranged = arrange(array, theirs, ours, dict(zip(value.axes, value.shape, strict=True)))
    if arranged is None:
        notes.append(f"not of the axes {theirs}")
        return array, ""
    notes.append(f"written as {theirs}")
    return arranged, theirs


def _hidden(scores: NDArray[Any], path: str, trace: Trace) -> NDArray[Any]:
    """Scores with -inf where the mask hides: some write that, others leave whatever was there."""
    mask = f"{path.rpartition('.')[0]}.mask"
    if mask not in trace or scores.shape != trace[mask].shape or scores.dtype.kind != "f":
        return scores
    return np.where(trace[mask], scores, scores.dtype.type(-np.inf))


def _typed(array: NDArray[Any], unit: float, value: Value) -> tuple[NDArray[Any], float]:
    """Whole numbers in JSON, whose unit isn't 0, as what the value is: there 1.0 is 1."""
    expected = np.dtype(value.dtype).kind
    if array.dtype.kind != "i" or not unit:
        return array, unit
    if expected == "f":
        return array.astype(np.float64), unit
    is_truth = expected == "b" and bool(np.isin(array, (0, 1)).all())
    return (array.astype(np.bool_) if is_truth else array), 0.0


def _once(dump: Dump, first: Theirs | None, second: Theirs) -> Theirs:
    """Two of their names for one path: the same numbers, or an error."""
    if first is None:
        return second
    if not _same(first, second):
        raise InputError(
            f"{dump.path}: {first.called} and {second.called} both are {first.path}, and hold "
            "different numbers: leave one of them out"
        )
    also = f"also written as {second.called}"
    return replace(first, note="; ".join(filter(None, [first.note, also])))


def _keep(value: Value, held: dict[str, Theirs], matched: Matched) -> None:
    """One array for a value of several paths; those that differ from it are kept apart."""
    written = [path for path in (value.path, *value.also) if path in held]
    for path in written[:1]:
        matched.found[value.path] = held[path]
    for path in written[1:]:
        if not _same(matched.found[value.path], held[path]):
            matched.copies[path] = replace(held[path], path=path)


def _same(first: Theirs, second: Theirs) -> bool:
    """Whether rounding explains how two arrays differ."""
    if first.array.shape != second.array.shape:
        return False
    if first.array.dtype.kind != "f" or second.array.dtype.kind != "f":
        return np.array_equal(first.array, second.array)
    largest = float(np.abs(first.array).max(initial=0, where=np.isfinite(first.array)))
    allowed = 2 * (first.unit + second.unit) * largest + first.quantum + second.quantum
    return np.allclose(first.array, second.array, rtol=0, atol=allowed, equal_nan=True)
