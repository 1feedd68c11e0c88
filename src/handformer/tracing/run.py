"""Make a trace: run a model forward and backward, and keep everything with what explains it."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import handformer.ops as plain
from handformer import tree
from handformer.formula import Sheet
from handformer.models import Decoder, Model
from handformer.tracing.entries import Entries, repeated
from handformer.tracing.lens import lens
from handformer.tracing.manifest import Manifest, Placed
from handformer.tracing.passing import LOSS, LOSS_SHEET, Pass, both_ways
from handformer.tracing.prompt import Prompt
from handformer.tracing.scopes import Scope, scopes
from handformer.tracing.seen import Found, Seen
from handformer.tracing.stated import stated
from handformer.tracing.trace import Trace, sealed


def run(
    model: Model,
    prompt: Prompt,
    *,
    name: str = "model",
    dtype: Any = None,
    ops: ModuleType = plain,
) -> Trace:
    """Everything that a model does with a prompt, forward and backward.

    Parameters
    ----------
    name
        what the model is called in the trace
    dtype
        that of every value; None: the weights' own
    ops
        what computes: `handformer.ops`, the book, or `handformer.fast`, the engine
    """
    model = model if dtype is None else tree.cast(model, dtype)
    made = both_ways(model, prompt.inputs, prompt.targets, ops=ops)
    seen = Seen(_place)
    made.enter(seen)
    if isinstance(model, Decoder):
        seen.add("lens", lens(model, made.cache, prompt.targets, ops))
    found = sorted(seen, key=_order(made))
    top, *parts = scopes(model, made.cache, made.back)
    told = stated(model, made.cache, made.back, **{LOSS: LOSS_SHEET})
    repeats = Sheet(tuple(repeated(found, told)))
    top = replace(top, sheet=top.sheet + repeats)
    told.add("", repeats)
    placed = [top, *parts, _loss(made)]
    sheets = {id(scope.sheet): scope.sheet for scope in placed}
    numbers = {key: number for number, key in enumerate(sheets)}
    entries = Entries(told, placed, found)
    manifest = Manifest(
        name=name,
        model=type(model).__name__,
        config=model.config.model_dump(exclude_none=True),
        dtype=str(made.logits.dtype),
        sheets=tuple(repr(sheet) for sheet in sheets.values()),
        scopes=tuple(
            Placed(
                path=scope.path, layer=scope.layer, sheet=numbers[id(scope.sheet)],
                scalars=dict(scope.scalars),
            )
            for scope in placed
        ),
        values=tuple(map(entries.value, found)),
        text=prompt.text,
        vocabulary=prompt.vocabulary,
    )  # fmt: skip
    return Trace(manifest, {entries.path(one): sealed(one.array) for one in found})


def _loss(made: Pass) -> Scope:
    scalars = {"d_loss": 1.0, "smoothing": 0.0, "vocab_size": made.logits.shape[-1]}
    return Scope(LOSS, "CrossEntropy", LOSS_SHEET, scalars)


def _place(array: Any) -> tuple[Any, ...]:
    lies = array.__array_interface__
    return lies["data"][0], array.dtype.str, array.shape, array.strides


def _order(made: Pass) -> Callable[[Found], tuple[int, int]]:
    """Weights, inputs and values as they were found; then gradients, from the loss backwards."""
    order = {path: place for place, path in enumerate(made.gradients)}

    def key(found: Found) -> tuple[int, int]:
        if found.kind in ("gradient", "weight_gradient"):
            return 1, min(order[path] for path in found.paths)
        return (2 if found.kind == "lens" else 0), 0

    return key
