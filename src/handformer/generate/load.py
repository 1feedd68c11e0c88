"""Open a model: a run's folder, or a folder in Hugging Face's layout."""

import os
from pathlib import Path
from types import ModuleType

import handformer.ops as plain
from handformer.errors import InputError
from handformer.generate.precision import kept_in
from handformer.generate.text import TextModel
from handformer.weights import hugging_face


def load(
    path: str | os.PathLike[str], *, weights: str | None = None, ops: ModuleType = plain
) -> TextModel:
    """The model and its tokenizer from a run's folder, or from a model's.

    Parameters
    ----------
    weights
        "float32", "bfloat16" or "float16": how the matrices are kept (see `precision`); None: as
        they are in the file
    ops
        what computes: `handformer.ops`, the book, or `handformer.fast`, the engine

    Raises
    ------
    InputError
        where there is none, or a file is damaged, or there are no such weights
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give a run's folder, or a model's")
    inner = folder / "model"
    model, tokenizer = hugging_face.load(inner if inner.is_dir() else folder)
    return TextModel(model if weights is None else kept_in(model, weights), tokenizer, ops)
