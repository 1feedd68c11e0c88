"""The settings of a run: read from a preset, a TOML file and `--set` options, checked, written
back.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from handformer.errors import InputError
from handformer.models.config import Config, ModelConfig

Settings = dict[str, Any]


class DataConfig(Config):
    """What is learned from."""

    path: str | None = Field(
        default=None,
        description="text file, folder, glob, or - for standard input [the embedded text]",
    )
    sha256: str | None = Field(
        default=None, description="of the text; another text is refused [any]"
    )
    tokenizer: str = Field(
        default="characters", description="characters, bytes, bpe, or the path of a tokenizer.json"
    )
    vocab_size: int = Field(default=1024, ge=257, description="bpe: how many entries to learn")
    validation: float = Field(
        default=0.1, gt=0, lt=1, description="part of the text that is held out"
    )

    @field_validator("path", "tokenizer")
    @classmethod
    def _can_be_written(cls, name: str | None) -> str | None:
        try:
            (name or "").encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name!r}: a file's name that isn't UTF-8; rename the file") from None
        return name


class TrainConfig(Config):
    """How it is learned. An update takes `accumulate` micro-batches of `batch` sequences each."""

    steps: int = Field(default=2000, ge=1, description="updates in all")
    batch: int = Field(default=12, ge=1, description="sequences in a micro-batch")
    accumulate: int = Field(default=1, ge=1, description="micro-batches in an update")
    optimizer: Literal["adamw", "sgd"] = Field(default="adamw", description="adamw or sgd")
    lr: float = Field(default=1e-3, gt=0, description="learning rate after the warm-up")
    schedule: Literal["cosine", "constant"] = Field(
        default="cosine", description="cosine or constant, after the warm-up"
    )
    min_lr: float | None = Field(
        default=None, ge=0, description="where cosine ends [a tenth of lr]"
    )
    warmup: int = Field(default=100, ge=0, description="updates in which the rate rises to lr")
    beta_1: float = Field(
        default=0.9, ge=0, lt=1, description="adamw: decay of the gradients' mean"
    )
    beta_2: float = Field(
        default=0.99, ge=0, lt=1, description="adamw: decay of their squares' mean"
    )
    eps: float = Field(default=1e-8, gt=0, description="adamw: added to the root of that mean")
    momentum: float = Field(default=0.0, ge=0, lt=1, description="sgd: part of the last step kept")
    weight_decay: float = Field(default=0.1, ge=0, description="of matrices, times the rate")
    clip: float = Field(
        default=1.0, gt=0, description="longest gradient, as a norm over all weights"
    )
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="label smoothing, in training")
    eval_every: int = Field(default=250, ge=1, description="updates between evaluations")
    eval_sequences: int = Field(default=240, ge=1, description="sequences in an evaluation at most")
    checkpoint_every: int = Field(default=500, ge=1, description="updates between checkpoints")
    log_every: int = Field(default=10, ge=1, description="updates between lines of the log")
    seed: int = Field(default=0, ge=0, description="of weights, batches, masks and dropout")
    dtype: Literal["float32", "float64"] = Field(
        default="float32", description="float32 or float64"
    )
    ops: Literal["fast", "plain"] = Field(
        default="fast", description="fast (compiled) or plain (the book)"
    )
    shares: int = Field(
        default=2, ge=1, description="pieces of a micro-batch; another number rounds otherwise"
    )
    threads: int | None = Field(
        default=None, ge=1, description="that take a share each; changes no bit [one a core]"
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.schedule == "cosine" and self.final_lr > self.lr:
            raise ValueError(
                f"train.min_lr = {self.min_lr} lies above train.lr = {self.lr}, and the rate falls "
                "to it; lower it too"
            )
        if self.momentum and self.optimizer != "sgd":
            raise ValueError(
                f"train.momentum = {self.momentum} is for train.optimizer = sgd; adamw has beta_1"
            )
        return self

    @property
    def final_lr(self) -> float:
        """min_lr: a tenth of lr unless set."""
        return self.lr / 10 if self.min_lr is None else self.min_lr


class RunConfig(Config):
    """A whole run: the model, the text and the training."""

    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    train: TrainConfig = TrainConfig()

    def toml(self) -> str:
        """The settings as TOML, a section a part, each key explained; one that is None as a
        comment.
        """
        lines = []
        for name, section in self:
            lines += ["", f"[{name}]"]
            for key, field in type(section).model_fields.items():
                value = getattr(section, key)
                setting = f"# {key} =" if value is None else f"{key} = {_literal(value)}"
                lines.append(f"{setting:<26} # {field.description}")
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
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or endless
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
    except (ValueError, RecursionError):
        try:
            return float(text)  # TOML wants 0.5, people type .5
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
