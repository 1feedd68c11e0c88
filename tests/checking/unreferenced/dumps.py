"""Dumps of small models of every family, as somebody else would have written them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.ops.cross_entropy import IGNORED
from handformer.selfcheck.cases.models import ModelCase, models
from handformer.tracing.prompt import Prompt
from handformer.tracing.run import run

Arrays = dict[str, NDArray[Any]]


@cache
def cases() -> dict[str, ModelCase]:
    """Every model by its label."""
    return {case.label: case for case in models(np.random.default_rng(5))}


@cache
def _traced(label: str, dtype: str) -> Any:
    case = cases()[label]
    tokens = case.inputs["tokens"]
    targets = np.random.default_rng(1).integers(case.model.config.vocab_size, size=tokens.shape)
    targets[0, 0] = IGNORED
    prompt = Prompt(inputs={**case.inputs}, targets=targets, text=None, vocabulary=None)
    return run(case.model, prompt, dtype=np.dtype(dtype))


def dump(label: str, dtype: str = "float32", stored: str = "") -> Arrays:
    """All values of one pass, by our names; stored in a narrower type, if one is given."""
    trace = _traced(label, dtype)
    return {
        path: trace[path].astype(stored)
        if stored and trace[path].dtype.kind == "f"
        else trace[path]
        for path in trace
    }


def changed(values: Arrays, path: str, change: Callable[[Any], Any]) -> Arrays:
    """The same dump, in which one value is another; in its own type."""
    array = np.asarray(change(values[path].astype(np.float64)))
    return {**values, path: array.astype(values[path].dtype)}
