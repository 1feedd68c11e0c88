"""A trace of one layer that stands alone: its weights, what it is given, and all it makes of it."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.formula import evaluate_all
from handformer.formula.names import gradient
from handformer.layers.layer import Layer
from handformer.ops.drops import NO_DROPOUT, Drops
from handformer.tracing.assemble import assemble, with_repeats
from handformer.tracing.scopes import Scope, scopes
from handformer.tracing.seen import Seen, in_order, place
from handformer.tracing.stated import Stated
from handformer.tracing.trace import Trace

Arrays = Mapping[str, NDArray[Any]]


def of_layer(
    layer: Layer,
    inputs: Mapping[str, Any],
    d_out: NDArray[Any] | None,
    *,
    name: str,
    drop: Drops = NO_DROPOUT,
    before: Scope | None = None,
    given: Arrays | None = None,
) -> Trace:
    """Run a layer forward, and backward from d_out, and keep every number.

    Parameters
    ----------
    inputs
        the arguments of `forward` by name
    d_out
        the gradient of its output; None: the layer has nothing to learn
    drop
        what draws the dropout masks
    before, given
        formulas that make further arguments of `forward`, as a mask, from these arrays; they stand
        under the path of `before`
    """
    given = given or {}
    made = {} if before is None else evaluate_all(before.sheet, given, before.scalars)
    takes = inspect.signature(layer.forward).parameters  # type: ignore[attr-defined]
    settings = {"drop": drop, "dtype": np.dtype(np.float64)}
    told = {name: setting for name, setting in settings.items() if name in takes}
    out, cache = layer.forward(**inputs, **made, **told)  # type: ignore[attr-defined]
    back = None if d_out is None else layer.backward(d_out, cache)  # type: ignore[attr-defined]
    outside = {path: part for path, part in inputs.items() if isinstance(part, np.ndarray)}
    outside |= {} if d_out is None else {"d_out": d_out}
    weights, gradients = tree.flatten(layer), tree.gradients(back)
    own = {gradient(path) for path in weights}
    seen = Seen(place)
    seen.add("weight", weights)
    seen.add("input", outside)
    top, *parts = scopes(layer, cache, back)
    whole = [replace(top, scalars={**_sizes(inputs), **top.scalars}), *parts]
    if out.ndim == 2:  # there are no leading axes
        whole = [replace(scope, sheet=scope.sheet.rename(b="")) for scope in whole]
    if before is not None:
        seen.add("input", {f"{before.path}.{key}": array for key, array in given.items()})
        seen.add("value", {f"{before.path}.{key}": array for key, array in made.items()})
        whole.append(before)
    statements = Stated()
    for scope in whole:
        statements.add(scope.path, scope.sheet)
    seen.add("value", {**tree.flatten(cache), "out": out})
    seen.add("weight_gradient", {path: a for path, a in gradients.items() if path in own})
    seen.add("gradient", {path: a for path, a in gradients.items() if path not in own})
    found = in_order(seen, gradients)
    return assemble(
        found, statements, with_repeats(found, statements, whole),
        name=name, model=type(layer).__name__, dtype=str(out.dtype),
    )  # fmt: skip


def _sizes(inputs: Mapping[str, Any]) -> dict[str, int]:
    """What some layers' own numbers don't tell: the width of the model, queries and keys."""
    if "x" not in inputs:
        return {}
    (n_queries, width), keys = inputs["x"].shape[-2:], inputs.get("memory", inputs["x"])
    return {"d_model": width, "n_queries": n_queries, "n_keys": keys.shape[-2]}
