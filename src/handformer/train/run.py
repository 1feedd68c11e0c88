"""A run from its beginning, or from where it stopped, to its end: what `handformer train` does."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from handformer import tree
from handformer.axes import Array
from handformer.errors import InputError
from handformer.models import CLASSES, Model
from handformer.text import Tokenizer
from handformer.train import checkpoint, log, loop, plot, progress, sample
from handformer.train.config import RunConfig, Settings, merge
from handformer.train.loop import Trained
from handformer.train.progress import Shown
from handformer.train.run_folder import RunFolder
from handformer.train.tasks import Task, prepare

_FIXED = ("model", "data")


@dataclass(frozen=True)
class Run:
    """All that a run needs: its folder, its settings, its task, and the model as it is now."""

    folder: RunFolder
    config: RunConfig
    task: Task
    trained: Trained

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(array.size for array in tree.flatten(self.trained.model).values())

    def go(self) -> tuple[Trained, bool]:
        """Train, and leave pictures and a sample; also whether the last step was reached.

        Raises
        ------
        loop.DivergedError
            where a number isn't finite
        InputError
            where the disk refuses
        """
        steps, start = self.config.train.steps, self.trained.step
        try:
            with progress.show(steps=steps, start=start) as shown:
                trained, finished = self._train(shown)
            self.folder.sample.write_text(
                sample.write(trained.model, self.task, self.config.train), encoding="utf-8"
            )
        finally:
            if self.folder.log.exists():
                plot.write_loss_svg(self.folder.log, self.folder.loss_svg)
        return trained, finished

    def _train(self, shown: Shown) -> tuple[Trained, bool]:
        return loop.train(self.trained, self.task, self.config.train, self.folder, shown)

    def validation_loss(self) -> float | None:
        """The last one in the log."""
        losses = [e["validation_loss"] for e in log.read(self.folder.log) if "validation_loss" in e]
        return losses[-1] if losses else None


def begin(settings: Settings, folder: Path, *, overwrite: bool = False) -> Run:
    """Begin a run in `folder`. Everything that can be wrong is found before anything is written.

    Raises
    ------
    InputError
        where a setting, the text or the folder is wrong
    """
    config, place = RunConfig.read(settings), RunFolder(folder)
    place.check_free(overwrite=overwrite)
    task, sha256 = prepare(config)
    config = RunConfig(
        model=task.model_config(config.model),
        data=config.data.model_copy(update={"sha256": sha256}),
        train=config.train,
    )
    model = CLASSES[config.model.family].init(
        config.model, seed=config.train.seed, dtype=np.dtype(config.train.dtype)
    )
    state = loop.optimizer(config.train).init(tree.flatten(model))
    place.begin(config, overwrite=overwrite)
    return Run(place, config, task, Trained(0, model, state))


def resume(folder: Path, settings: Settings) -> Run:
    """Take up a run from its newest checkpoint; `settings` may change how it goes on.

    Raises
    ------
    InputError
        where the run, its checkpoint or its text isn't what it was, or a setting can't be changed
        now
    """
    place = RunFolder(folder)
    old = place.read_config()
    for section in _FIXED:
        if section in settings:
            keys = ", ".join(f"{section}.{key}" for key in settings[section])
            raise InputError(f"{keys}: can't change in a run that has begun; only train.* can")
    config = RunConfig.read(merge(old.model_dump(exclude_none=True), settings))
    newest = place.newest()
    if newest.step > config.train.steps:
        raise InputError(
            f"{folder}: {newest.step} updates are made already; train.steps = {config.train.steps} "
            "lies before that"
        )
    task, sha256 = prepare(config, Tokenizer.load(place.model))
    if sha256 != config.data.sha256:
        raise InputError(
            f"{config.data.path or 'the embedded text'}: another text than this run began with "
            f"(sha256 {sha256[:12]}, not {str(config.data.sha256)[:12]}); begin a new run for it"
        )
    shape = CLASSES[config.model.family].init(config.model, dtype=np.dtype(config.train.dtype))
    model = _weights(shape, newest.params, place)
    place.write_config(config)
    log.truncate_after(place.log, newest.step)
    return Run(place, config, task, Trained(newest.step, model, newest.state))


def _weights(shape: Model, params: dict[str, Array], place: RunFolder) -> Model:
    try:
        return tree.replace(shape, params)
    except ValueError as error:
        raise InputError(f"{checkpoint.whole(place.checkpoints)[-1]}: {error}") from None


def next_commands(run: Run) -> Sequence[str]:
    """What to type after a run."""
    folder = run.folder.path
    return (
        f'handformer generate {folder} --prompt "The "',
        "handformer example identity",
        "handformer selfcheck",
    )
