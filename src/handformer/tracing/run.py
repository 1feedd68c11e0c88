"""Make a trace: run a model forward and backward, and keep everything with what explains it."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

import handformer.ops as plain
from handformer import tree
from handformer.models import Decoder, Model
from handformer.tracing.assemble import assemble, with_repeats
from handformer.tracing.lens import lens
from handformer.tracing.passing import LOSS, LOSS_SHEET, Pass, both_ways
from handformer.tracing.prompt import Prompt
from handformer.tracing.scopes import Scope, scopes
from handformer.tracing.seen import Seen, in_order, place
from handformer.tracing.stated import stated
from handformer.tracing.trace import Trace


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
    looked = lens(model, made.cache, prompt.targets, ops) if isinstance(model, Decoder) else {}
    return of_pass(made, prompt, name=name, looked=looked)


def of_pass(
    made: Pass, prompt: Prompt, *, name: str, looked: Mapping[str, NDArray[Any]] | None = None
) -> Trace:
    """The trace of a pass, and of what the lens shows of it."""
    model = made.model
    seen = Seen(place)
    made.enter(seen)
    seen.add("lens", looked or {})
    found = in_order(seen, made.gradients)
    told = stated(model, made.cache, made.back, **{LOSS: LOSS_SHEET})
    layers = [*scopes(model, made.cache, made.back), _loss(made)]
    return assemble(
        found,
        told,
        with_repeats(found, told, layers),
        name=name,
        model=type(model).__name__,
        dtype=str(made.logits.dtype),
        config=model.config.model_dump(exclude_none=True),
        text=prompt.text,
        vocabulary=prompt.vocabulary,
    )


def _loss(made: Pass) -> Scope:
    scalars = {"d_loss": 1.0, "smoothing": 0.0, "vocab_size": made.logits.shape[-1]}
    return Scope(LOSS, "CrossEntropy", LOSS_SHEET, scalars)
