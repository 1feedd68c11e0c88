"""The settings of a run: read from a preset, a TOML file and `--set` options, checked, written
back.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from handformer.errors import InputError
from handformer.models.config import Config, ModelConfig

Settings = dict[str, Any]


class DataConfig(Config):
    """What is learned from.

    path
        a text file, a folder, a glob, "-" for standard input, or none for the embedded text; for
        the family transformer a TSV file of sequence pairs tokenizer characters, bytes, bpe, or the
        path of a tokenizer.json vocab_size bpe only: how many entries to learn
    """

    path: str | None = None
    sha256: str | None = None
    tokenizer: str = "characters"
    vocab_size: int = Field(default=1024, ge=257)
    validation: float = Field(default=0.1, gt=0, lt=1)


class TrainConfig(Config):
    """How it is learned. An update takes `accumulate` micro-batches of `batch` sequences each."""

    steps: int = Field(default=2000, ge=1)
    batch: int = Field(default=12, ge=1)
    accumulate: int = Field(default=1, ge=1)
    optimizer: Literal["adamw", "sgd"] = "adamw"
    lr: float = Field(default=1e-3, gt=0)
    schedule: Literal["cosine", "constant"] = "cosine"
    min_lr: float = Field(default=1e-4, ge=0)
    warmup: int = Field(default=100, ge=0)
    beta_1: float = Field(default=0.9, ge=0, lt=1)
    beta_2: float = Field(default=0.99, ge=0, lt=1)
    eps: float = Field(default=1e-8, gt=0)
    momentum: float = Field(default=0.0, ge=0, lt=1)
    weight_decay: float = Field(default=0.1, ge=0)
    clip: float = Field(default=1.0, gt=0)
    smoothing: float = Field(default=0.0, ge=0, lt=1)
    eval_every: int = Field(default=250, ge=1)
    eval_sequences: int = Field(default=240, ge=1)
    checkpoint_every: int = Field(default=500, ge=1)
    log_every: int = Field(default=10, ge=1)
    seed: int = Field(default=0, ge=0)
    dtype: Literal["float32", "float64"] = "float32"


class RunConfig(Config):
    """A whole run: the model, the text and the training."""

    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    train: TrainConfig = TrainConfig()

    def toml(self) -> str:
        """The settings as TOML, one section a part; what is None is left out."""
        lines = []
        for name, section in self.model_dump(exclude_none=True).items():
            lines += ["", f"[{name}]", *(f"{key} = {_literal(v)}" for key, v in section.items())]
        return "\n".join(lines[1:]) + "\n"


def merge(*layers: Settings) -> Settings:
    """Settings laid over one another, later ones on top, section by section."""
    merged: Settings = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            both = isinstance(value, dict) and isinstance(below, dict)
            merged[key] = merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def read_toml(path: Path) -> Settings:
    """The settings in a TOML file.

    Raises
    ------
    InputError
        where the file can't be read, or isn't TOML; the line names the place
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: can't read the config: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from None


def read_options(options: Iterable[str]) -> Settings:
    """The settings in options like `train.lr=3e-4`; a value is read as TOML, or else as text.

    Raises
    ------
    InputError
        where an option isn't of the form section.key=value
    """
    settings: Settings = {}
    for option in options:
        key, equals, value = option.partition("=")
        path = key.strip().split(".")
        if not equals or len(path) != 2 or not all(path):
            raise InputError(f"--set {option}: expected section.key=value, as in train.lr=3e-4")
        settings = merge(settings, {path[0]: {path[1]: _value(value.strip())}})
    return settings


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        try:
            return float(text)  # TOML wants 1.0e30, people type 1e30 and .5
        except ValueError:
            return text


def _literal(value: Any) -> str:
    if isinstance(value, str):
        escaped = "".join(
            f"\\u{ord(c):04x}"
            if ord(c) < 32 or ord(c) == 127
            else {"\\": "\\\\", '"': '\\"'}.get(c, c)
            for c in value
        )
        return f'"{escaped}"'
    return str(value).lower() if isinstance(value, bool) else repr(value)
