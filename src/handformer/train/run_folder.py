"""A run's folder: what lies where, and how a new one is begun and an old one taken up again.

config.toml   every setting, resolved          model/         the model, in Hugging Face's layout
checkpoints/  all that resuming needs          log.jsonl      one line an event
loss.svg      the losses as a picture          sample.txt     what the model writes
corpus.txt    the text, if it came from standard input

A kill at any moment leaves a folder that can be resumed: config.toml comes first, and determines
the run together with the text; what comes later is written aside and renamed.
"""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from handformer.errors import InputError
from handformer.models import Model
from handformer.text import Corpus
from handformer.train import aside, checkpoint, plot
from handformer.train.config import RunConfig, read_toml
from handformer.weights import hugging_face

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """Every setting of the run."""
        return self.path / "config.toml"

    @property
    def text(self) -> Path:
        """The text of a run that learns from standard input."""
        return self.path / "corpus.txt"

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
            written to
        """
        try:
            nearest = next(p for p in (self.path, *self.path.absolute().parents) if p.exists())
            holds = sorted(self.path.iterdir()) if nearest == self.path and nearest.is_dir() else []
        except OSError as error:
            raise InputError(
                f"{self.path}: can't be used as a folder ({error.strerror}); choose another one "
                "with --out"
            ) from None
        if not nearest.is_dir():
            raise InputError(f"{nearest}: not a folder; choose another one with --out")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise InputError(
                f"{nearest}: this folder can't be written to; choose another one with --out"
            )
        if self.config in holds:
            if not overwrite:
                raise InputError(
                    f"{self.path}: holds a run already; go on with --resume, choose another folder "
                    "with --out, or replace it with --overwrite"
                )
            self.read_config()  # somebody else's config.toml stays, and what lies beside it
        elif foreign := [path.name for path in holds if not _half_written(path)]:
            raise InputError(
                f"{self.path}: holds files that aren't a run ({foreign[0]}); choose another folder "
                "with --out"
            )

    def begin(self, config: RunConfig, text: Corpus, *, overwrite: bool) -> None:
        """Make the folder, in the place of a run that is there if `overwrite` says so.

        Raises
        ------
        InputError
            as `check_free`, where the disk refuses, or where the text lies in what is to be
            replaced
        """
        self.check_free(overwrite=overwrite)
        here = os.path.realpath(self.path)  # unlike Path.resolve, it stands a link to itself
        inside = [file for file in text.files if Path(os.path.realpath(file)).is_relative_to(here)]
        if inside:
            raise InputError(
                f"{inside[0]}: the text lies in the run's folder, which would be replaced; move it"
            )
        new = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.tidy()
            for part in (self.checkpoints, self.model):
                if part.exists():
                    aside.remove(part)
            for part in (self.log, self.loss_svg, self.sample, self.text):
                part.unlink(missing_ok=True)
            self.write_config(config)
            if config.data.path == STANDARD_INPUT:
                aside.write(self.text, text.text.encode())
        except OSError as error:
            if new:
                shutil.rmtree(self.path, ignore_errors=True)
            raise InputError(
                f"{self.path}: can't be written to ({error.strerror}); choose another folder with "
                "--out"
            ) from None

    def tidy(self) -> None:
        """Remove what a killed process left half written."""
        for folder in (self.path, self.checkpoints):
            for left in filter(_half_written, folder.glob(".*")):
                shutil.rmtree(left) if left.is_dir() else left.unlink()

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
        if not os.path.exists(self.config):
            raise InputError(f"{self.path}: no run here (no config.toml)")
        settings = read_toml(self.config)
        try:
            return RunConfig.read(settings)
        except InputError as error:
            raise InputError(f"{self.config}: {error}") from None

    def newest(self) -> checkpoint.Checkpoint | None:
        """The newest checkpoint; none if the run was killed before it could write the first.

        Raises
        ------
        InputError
            where it is damaged, or has been removed
        """
        places = checkpoint.whole(self.checkpoints)
        if places:
            return checkpoint.read(places[-1])
        if self.log.exists():
            raise InputError(
                f"{self.checkpoints}: no checkpoint to go on from; begin again with --overwrite"
            )
        return None

    def save(self, made: checkpoint.Checkpoint, model: Model) -> None:
        """Write a checkpoint, and the model in Hugging Face's layout.

        Raises
        ------
        OSError, InputError
            where the disk refuses
        """
        checkpoint.write(self.checkpoints, made)
        hugging_face.save(self.model, model, made.tokenizer)

    def draw(self) -> None:
        """Draw the log's losses, if there are any yet."""
        with suppress(InputError):
            plot.write_loss(self.log, self.loss_svg)


def _half_written(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(".part")
