"""A run from its beginning, or from where it stopped, to its end: what `handformer train` does."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from handformer import fast, tree
from handformer.errors import InputError
from handformer.fast.workers import cores
from handformer.models import CLASSES, Model
from handformer.models.config import Config
from handformer.text import Corpus
from handformer.train import aside, log, loop, progress, sample, tasks
from handformer.train.config import RunConfig, Settings, TrainConfig, merge
from handformer.train.engine import Engine
from handformer.train.loop import Trained
from handformer.train.run_folder import STANDARD_INPUT, RunFolder
from handformer.train.tasks import Task
from handformer.weights import hugging_face

_MOST_THREADS = 1024  # more than any machine has use for; a system refuses many more


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

    def go(self) -> tuple["Run", int | None]:
        """Train, and leave a picture and a sample: the run afterwards, and the signal that stopped
        it, None if it came to its last step. The weights of this run are changed in place.

        Raises
        ------
        loop.DivergedError
            where a number isn't finite; the last good checkpoint stays
        InputError
            where the disk refuses; the last checkpoint stays
        """
        steps, start = self.config.train.steps, self.trained.step
        try:
            engine, told = _engine(self.config.train)
            with engine, progress.show(steps=steps, start=start) as shown:
                if told:
                    with suppress(BrokenPipeError):
                        shown.note(told)
                model, state = engine.own(self.trained.model, self.trained.state)
                trained, stopped = loop.train(
                    Trained(start, model, state), self.task, self.config.train, self.folder,
                    shown, engine=engine,
                )  # fmt: skip
                with suppress(BrokenPipeError):
                    shown.note("writing a sample")
            written = sample.write(trained.model, self.task, self.config.train)
            aside.write(self.folder.sample, written.encode())
            self.folder.draw()
        except loop.DivergedError:
            self.folder.draw()
            raise
        except OSError as error:
            raise InputError(
                f"{self.folder.path}: can't save ({error.strerror or error}); the last checkpoint "
                "stays; go on with --resume when there is room"
            ) from None
        return replace(self, trained=trained), stopped

    def validation_loss(self) -> float | None:
        """The last one in the log, if it holds any."""
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
    text = tasks.read(config.data)
    task = tasks.prepare(config, text)
    found = {"sha256": text.sha256, "path": _absolute(config.data.path)}
    config = RunConfig(
        model=task.model_config(config.model),
        data=config.data.model_copy(update=found),
        train=config.train,
    )
    trained = _start(config)
    place.begin(config, text, overwrite=overwrite)
    return Run(place, config, task, trained)


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
    config = RunConfig.read(merge(old.model_dump(exclude_none=True), settings))
    _require_same("model", old.model, config.model)
    _require_same("data", old.data, config.data)
    _require_same("train", old.train, config.train, "dtype", "optimizer")
    newest = place.newest()
    if newest is not None and newest.step > config.train.steps:
        raise InputError(
            f"{folder}: {newest.step} updates are made already; train.steps = {config.train.steps} "
            "lies before that"
        )
    task = tasks.prepare(config, _text(place, config), newest.tokenizer if newest else None)
    trained = _start(config)
    if newest is not None:
        try:
            model = tree.replace(trained.model, newest.params)
            trained = Trained(newest.step, model, newest.state)
            _rehearse(trained, config)
        except ValueError as error:
            raise InputError(
                f"{place.checkpoints}/step-{newest.step:06d}: doesn't fit the config: {error}"
            ) from None
    try:
        place.tidy()
        place.write_config(config)
        log.truncate_after(place.log, trained.step)
        if newest is not None:  # a kill may have come between the checkpoint and the model
            hugging_face.save(place.model, trained.model, newest.tokenizer)
    except OSError as error:
        raise InputError(f"{folder}: can't be written to ({error.strerror})") from None
    return Run(place, config, task, trained)


def _start(config: RunConfig) -> Trained:
    dtype = np.dtype(config.train.dtype)
    model: Model = CLASSES[config.model.family].init(
        config.model, seed=config.train.seed, dtype=dtype
    )
    return Trained(0, model, loop.optimizer(config.train).init(tree.flatten(model)))


def _engine(config: TrainConfig) -> tuple[Engine, str | None]:
    """The engine that the config asks for, and what there is to say about it."""
    shares = min(config.shares, config.batch)
    threads = min(config.threads or cores(), _MOST_THREADS)
    if config.ops == "plain" or not fast.AVAILABLE:
        missing = "Numba isn't installed: plain operations, which take several times as long"
        return Engine(shares, threads), None if config.ops == "plain" else missing
    from handformer.fast import compiled  # noqa: PLC0415  # both need Numba
    from handformer.train.fast_engine import FastEngine  # noqa: PLC0415

    told = "compiling for this machine, once: some seconds" if compiled.fresh() else None
    return FastEngine(shares, threads), told


def _rehearse(trained: Trained, config: RunConfig) -> None:
    """An update without effect: it finds a state that was saved with other settings."""
    params = tree.flatten(trained.model)
    still = {path: np.zeros_like(array) for path, array in params.items()}
    loop.optimizer(config.train).update(params, still, trained.state, 0.0)


def _absolute(path: str | None) -> str | None:
    """The text's path as it can be found from anywhere."""
    if path in (None, STANDARD_INPUT):
        return path
    return str(Path(path).expanduser().absolute())


def _text(place: RunFolder, config: RunConfig) -> Corpus:
    """The text of a run that has begun."""
    if config.data.path != STANDARD_INPUT:
        return tasks.read(config.data)
    if not place.text.exists():
        raise InputError(
            f"{place.text}: not there, and it is the only copy of the text that came from standard "
            "input; begin again with --overwrite"
        )
    return tasks.read(config.data.model_copy(update={"path": str(place.text)}))


def _require_same(section: str, old: Config, new: Config, *only: str) -> None:
    for key in only or type(old).model_fields:
        before, now = getattr(old, key), getattr(new, key)
        if before != now:
            raise InputError(
                f"{section}.{key} = {now!r}: can't change in a run that has begun with {before!r}; "
                "begin another one"
            )


def next_commands(run: Run) -> Sequence[str]:
    """What to type after a run."""
    folder, prompt = (shlex.quote(text) for text in (str(run.folder.path), sample.prompt(run.task)))
    return (
        f"handformer generate {folder} --prompt {prompt}",
        "handformer example identity",
        "handformer selfcheck",
    )
