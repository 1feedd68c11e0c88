"""Open a model: a run's folder, or a folder in Hugging Face's layout."""

import os
from pathlib import Path

from handformer.errors import InputError
from handformer.generate.text import TextModel
from handformer.weights import hugging_face


def load(path: str | os.PathLike[str]) -> TextModel:
    """The model and its tokenizer from a run's folder, or from a model's.

    Raises
    ------
    InputError
        where there is none, or a file is damaged
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give a run's folder, or a model's")
    inner = folder / "model"
    return TextModel(*hugging_face.load(inner if inner.is_dir() else folder))
