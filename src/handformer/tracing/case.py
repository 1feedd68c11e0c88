"""A case: a trace that somebody else's numbers are held against.

What the other side reads, weights and inputs, stands there as it was given; what it is held
against is in float64. A case holds everything: a value that was left out couldn't be checked, nor
those that are computed from it. What the layers would have predicted is no step of the model, and
isn't in it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import handformer.ops as plain
from handformer import tree
from handformer.errors import InputError
from handformer.models import Model
from handformer.ops.drops import NO_DROPOUT, Drops
from handformer.tracing.passing import both_ways
from handformer.tracing.prompt import Prompt
from handformer.tracing.run import of_pass
from handformer.tracing.trace import Trace, sealed


def case(model: Model, prompt: Prompt, *, name: str, drop: Drops = NO_DROPOUT) -> Trace:
    """Run a model forward and backward in float64, and keep what a check needs."""
    exact = tree.cast(model, np.float64)
    made = both_ways(exact, prompt.inputs, prompt.targets, drop=drop, ops=plain)
    return as_given(of_pass(made, prompt, name=name), tree.flatten(model))


def as_given(trace: Trace, outside: Mapping[str, NDArray[Any]]) -> Trace:
    """The trace as a case: weights and inputs are these arrays, which hold the same numbers."""
    values, arrays = [], {}
    for value in trace.manifest.values:
        if value.kind == "lens":
            continue
        array = trace[value.path]
        if value.kind in ("weight", "input"):
            given = (outside[path] for path in (value.path, *value.also) if path in outside)
            array = sealed(next(given, array))
        arrays[value.path] = array
        values.append(value.model_copy(update={"dtype": array.dtype.name}))
    manifest = trace.manifest.model_copy(update={"values": tuple(values)})
    made = Trace(manifest, arrays)
    require(made)
    return made


def require(trace: Trace) -> None:
    """Refuse what nothing can be held against.

    Raises
    ------
    InputError
        for a value that isn't there, that nothing explains, or that is no finite number
    """
    for value in trace.manifest.values:
        if not value.kept:
            raise InputError(f"{value.path} was left out: a case needs every value")
        if value.scope is None and value.kind not in ("weight", "input"):
            raise InputError(f"{value.path} has no formula: nothing can be held against it")
        array = trace[value.path]
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{value.path} holds NaN or infinity: a case needs finite numbers")
