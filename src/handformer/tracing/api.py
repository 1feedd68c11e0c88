"""`hand.trace`: everything that happens to a text, or to tokens, in one call."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import handformer.ops as plain
from handformer.errors import InputError
from handformer.generate.load import load
from handformer.generate.text import TextModel
from handformer.models import CLASSES, Model
from handformer.tracing import prompt as prompts
from handformer.tracing.cut import Cut
from handformer.tracing.prompt import Ids, Prompt
from handformer.tracing.run import run
from handformer.tracing.trace import Trace


def trace(
    model: Model | TextModel | str | os.PathLike[str],
    text: str | Sequence[str] | None = None,
    *,
    tokens: Ids | Sequence[Ids] | None = None,
    source: Ids | Sequence[Ids] | None = None,
    targets: Any = None,
    name: str | None = None,
    dtype: Any = None,
    only: str | Sequence[str] = (),
    positions: Sequence[int] | None = None,
    weights: bool = True,
    ops: ModuleType = plain,
) -> Trace:
    """Run a model forward, through the loss, and backward; keep every number.

        trace = hand.trace(model, "The cat sat")
        trace["blocks.0.attention.d_scores"]

    Parameters
    ----------
    model
        a model, one with its tokenizer (as `hand.load` gives), or the folder of one
    text
        a text, or several side by side; of an encoder-decoder the source. It needs a tokenizer
    tokens, source
        token ids in the text's place: a row, or several
    targets
        texts or token ids, in the form of what is traced. None: for each token the one after it;
        an encoder's own tokens; what an encoder-decoder would write
    name
        what the model is called in the trace
    dtype
        that of every value, as in np.float64; None: the weights' own
    only, positions, weights
        what is kept: see `Cut`
    ops
        what computes: `handformer.ops`, the book, or `handformer.fast`, the engine

    Raises
    ------
    InputError
        where there is no text, or it can't be encoded, or something doesn't fit the model
    """
    if isinstance(model, str | os.PathLike):
        name, model = name or Path(model).name, load(model)
    bare = model.model if isinstance(model, TextModel) else model
    if not isinstance(bare, tuple(CLASSES.values())):
        raise InputError(f"a {type(bare).__name__} can't be traced: expected a model or a folder")
    require_dtype(dtype)
    prompt = _prompt(model, text, tokens, source, targets)
    patterns = (only,) if isinstance(only, str) else tuple(only)
    cut = Cut(patterns, None if positions is None else _positions(positions), weights)
    whole = run(bare, prompt, name=name or bare.config.family, dtype=dtype, ops=ops)
    return whole if cut == Cut() else cut.of(whole)


def _prompt(
    model: Model | TextModel,
    text: str | Sequence[str] | None,
    tokens: Any,
    source: Any,
    targets: Any,
) -> Prompt:
    if (text is None) == (tokens is None):
        raise InputError("give a text, or tokens, and not both")
    if text is not None:
        if source is not None:
            raise InputError("a text is the source itself: leave source out, or give tokens")
        if not isinstance(model, TextModel):
            raise InputError("a model without a tokenizer reads tokens: give tokens=[...]")
        return prompts.of_text(model, _texts(text), None if targets is None else _texts(targets))
    bare = model.model if isinstance(model, TextModel) else model
    rows, read, aims = (None if part is None else _rows(part) for part in (tokens, source, targets))
    assert rows is not None
    made = prompts.of_tokens(bare, rows, source=read, targets=aims)
    return prompts.spelled(made, model.tokenizer) if isinstance(model, TextModel) else made


def _texts(given: str | Sequence[str]) -> list[str]:
    texts = [given] if isinstance(given, str) or not hasattr(given, "__iter__") else [*given]
    if not all(isinstance(one, str) for one in texts):
        raise InputError(f"expected a text, or several; found {given!r:.60}")
    return [str(one) for one in texts]


def require_dtype(dtype: Any) -> None:
    """Refuse what no trace is computed in.

    Raises
    ------
    InputError
        for anything but float32, float64, and None
    """
    try:
        fits = dtype is None or np.dtype(dtype).name in ("float32", "float64")
    except TypeError:
        fits = False
    if not fits:
        raise InputError(f"dtype {dtype!r}: expected float32 or float64")


def _positions(given: Sequence[int]) -> tuple[int, ...]:
    places = tuple(given)
    whole = all(isinstance(one, int | np.integer) for one in places)
    if not whole or len({*places}) < len(places) or not places:
        raise InputError(f"positions {places}: expected whole numbers, each once")
    return tuple(map(int, places))


def _rows(given: Any) -> list[Ids]:
    """One row, or several."""
    if not hasattr(given, "__iter__") or isinstance(given, str):
        raise InputError(f"expected token ids, a row or several; found {given!r:.60}")
    rows = list(given)
    nested = bool(rows) and hasattr(rows[0], "__len__")
    return rows if nested else [rows]
