"""A run's folder: what lies where, and how a new one is begun and an old one taken up again.

config.toml   every setting, resolved          model/         the model, in Hugging Face's layout
checkpoints/  all that resuming needs          log.jsonl      one line an event
loss.svg      the losses as a picture          sample.txt     what the model writes
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from handformer.errors import InputError
from handformer.models import Model
from handformer.text import Tokenizer
from handformer.train import aside, checkpoint
from handformer.train.config import RunConfig, read_toml
from handformer.weights import hugging_face


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """Every setting of the run."""
        return self.path / "config.toml"

    @property
    def model(self) -> Path:
        """The model of the newest checkpoint, in Hugging Face's layout."""
        return self.path / "model"

    @property
    def checkpoints(self) -> Path:
        """The newest checkpoints."""
        return self.path / "checkpoints"

    @property
    def log(self) -> Path:
        """One JSON object a line."""
        return self.path / "log.jsonl"

    @property
    def loss_svg(self) -> Path:
        """The losses as a picture."""
        return self.path / "loss.svg"

    @property
    def sample(self) -> Path:
        """What the model writes."""
        return self.path / "sample.txt"

    def check_free(self, *, overwrite: bool) -> None:
        """Make sure that a new run may begin here; nothing is written or removed.

        Raises
        ------
        InputError
            where the folder holds anything (with `overwrite`: anything but a run), or can't be
            written
        """
        nearest = next(p for p in (self.path, *self.path.absolute().parents) if p.exists())
        if not nearest.is_dir():
            raise InputError(f"{nearest}: not a folder; choose another one with --out")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise InputError(
                f"{nearest}: this folder can't be written to; choose another with --out"
            )
        if self.path.is_dir() and any(self.path.iterdir()):
            if not self.config.exists():
                raise InputError(
                    f"{self.path}: holds files that aren't a run; choose another with --out"
                )
            if not overwrite:
                raise InputError(
                    f"{self.path}: holds a run already; go on with --resume {self.path}, "
                    "choose another folder with --out, or replace it with --overwrite"
                )

    def begin(self, config: RunConfig, *, overwrite: bool) -> None:
        """Make the folder, in the place of a run that is there if `overwrite` says so."""
        self.check_free(overwrite=overwrite)
        try:
            if self.path.is_dir() and overwrite:
                for part in ("config.toml", "log.jsonl", "loss.svg", "sample.txt"):
                    (self.path / part).unlink(missing_ok=True)
                for part in ("model", "checkpoints"):
                    shutil.rmtree(self.path / part, ignore_errors=True)
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self.write_config(config)
        except OSError as error:
            raise InputError(f"{self.path}: can't be written to: {error.strerror}") from None

    def write_config(self, config: RunConfig) -> None:
        """Write config.toml, whole or not at all."""
        aside.write(self.config, config.toml().encode())

    def read_config(self) -> RunConfig:
        """The settings of the run that is here.

        Raises
        ------
        InputError
            where there is no run, or its config can't be read
        """
        if not self.config.exists():
            raise InputError(f"{self.path}: no run here (no config.toml)")
        return RunConfig.read(read_toml(self.config))

    def newest(self) -> checkpoint.Checkpoint:
        """The newest checkpoint.

        Raises
        ------
        InputError
            where there is none, or it is damaged
        """
        places = checkpoint.whole(self.checkpoints)
        if not places:
            raise InputError(
                f"{self.checkpoints}: no checkpoint to go on from; begin with --overwrite"
            )
        return checkpoint.read(places[-1])

    def save(self, made: checkpoint.Checkpoint, tokenizer: Tokenizer, model: Model) -> None:
        """Write a checkpoint and the model.

        Raises
        ------
        InputError
            where the disk refuses
        """
        try:
            checkpoint.write(self.checkpoints, made)
            hugging_face.save(self.model, model, tokenizer)
        except OSError as error:
            raise InputError(f"{self.path}: can't save: {error.strerror or error}") from None
