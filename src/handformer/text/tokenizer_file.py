"""`tokenizer.json` on disk: read strictly, written whole or not at all."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tokenizers

from handformer.errors import InputError

NAME = "tokenizer.json"
_ROLES = {"[PAD]": "pad", "[MASK]": "mask", "[BOS]": "bos", "[EOS]": "eos"}


@contextmanager
def explained(thing: str, cure: str) -> Iterator[None]:
    """Turn whatever the `tokenizers` library raises into an InputError of one line.

    Its panics derive from BaseException alone, so that is what must be caught.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{thing} ({reason}); {cure}") from error


def read(path: str | os.PathLike[str]) -> tokenizers.Tokenizer:
    """The tokenizer in a file, or in a folder that holds a `tokenizer.json`.

    Raises InputError, naming the file, where it is missing, damaged, or not a tokenizer.
    """
    file = Path(path)
    if file.is_dir():
        file = file / NAME
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(
            f"{str(file)!r}: no tokenizer can be read here ({reason}); "
            f"expected a {NAME} or a folder that holds one"
        ) from error
    with explained(
        f"{str(file)!r}: damaged, or no {NAME}", "copy it again from where it came from"
    ):
        library = tokenizers.Tokenizer.from_str(text)
    ids = library.get_vocab(with_added_tokens=True).values()
    if not ids or max(ids) > 2 * len(ids) + 1024:
        raise InputError(
            f"{str(file)!r}: damaged: {len(ids)} tokens with ids up to {max(ids, default=0)}; "
            "expected ids without gaps; copy it again from where it came from"
        )
    return library


def write(library: tokenizers.Tokenizer, where: str | os.PathLike[str]) -> Path:
    """Write a tokenizer to a `.json` file or into a folder; returns the file's path.

    A folder also gets the `tokenizer_config.json` without which `transformers` would guess the
    kind of tokenizer from the model, and guess wrong.
    """
    target = Path(where)
    is_file = target.suffix == ".json"
    file = target if is_file else target / NAME
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, library.to_str(pretty=True))
        if not is_file:
            _replace(target / "tokenizer_config.json", _config(library))
    except OSError as error:
        raise InputError(
            f"{str(file)!r}: the tokenizer can't be written here ({error.strerror}); "
            "name a folder that can be written"
        ) from error
    return file


def _config(library: tokenizers.Tokenizer) -> str:
    roles = {
        f"{role}_token": token
        for token, role in _ROLES.items()
        if library.token_to_id(token) is not None
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,  # it would take spaces out before punctuation
        **roles,
    }
    return json.dumps(config, indent=2) + "\n"


def _replace(file: Path, text: str) -> None:
    """Write aside and rename, so that a reader sees a whole file or none."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8", newline="")
        os.replace(aside, file)
    finally:
        aside.unlink(missing_ok=True)
