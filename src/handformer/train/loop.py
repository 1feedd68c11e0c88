"""The loop: update after update, with evaluations, checkpoints and a log on the way."""

import shlex
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from handformer import tree
from handformer.models import Model
from handformer.ops.drops import NO_DROPOUT, RandomDropout
from handformer.train import checkpoint, log, norms, sample, schedule
from handformer.train.config import TrainConfig
from handformer.train.engine import Engine
from handformer.train.optimizer import SGD, AdamW, Optimizer, State
from handformer.train.progress import Shown
from handformer.train.run_folder import RunFolder
from handformer.train.step import NonFiniteError
from handformer.train.tasks import Task

PLAIN = Engine()


@dataclass(frozen=True)
class Trained:
    """A model, the optimizer's state, and the number of updates that made them."""

    step: int
    model: Model
    state: State


class DivergedError(ArithmeticError):
    """The run met a number that isn't finite; the message says where, and how to go on."""


def optimizer(config: TrainConfig) -> Optimizer:
    """The optimizer that the config names."""
    if config.optimizer == "sgd":
        return SGD(config.momentum, config.weight_decay)
    return AdamW(config.beta_1, config.beta_2, config.eps, config.weight_decay)


def rate(config: TrainConfig, step: int) -> float:
    """The learning rate of the update after `step` updates."""
    if config.schedule == "constant":
        return schedule.constant(step, lr=config.lr, warmup=config.warmup)
    return schedule.warmup_cosine(
        step, lr=config.lr, min_lr=config.final_lr, warmup=config.warmup, steps=config.steps
    )


def update(
    trained: Trained, task: Task, config: TrainConfig, *, engine: Engine = PLAIN
) -> tuple[Trained, dict[str, Any]]:
    """One update, and what the log says of it. The same arguments give the same bits.

    A fast engine changes the arrays of `trained`, which it must own.

    Raises
    ------
    NonFiniteError
        where the loss, a gradient or a new weight isn't finite
    """
    step = trained.step
    batches = [task.batch(config, step, micro) for micro in range(config.accumulate)]
    shares = [share for batch in batches for share in batch.split(config.shares)]
    drop = RandomDropout(config.seed, step, "dropout")
    found = engine.gradients(trained.model, shares, smoothing=config.smoothing, drop=drop)
    lr = rate(config, step)
    model, state = engine.update(
        trained.model, found, trained.state, optimizer(config), config.clip, lr
    )
    told = {
        "loss": found.loss, "lr": lr, "gradient_norm": found.norm, "squares": found.squares,
        "tokens": sum(batch.tokens for batch in batches),
    }  # fmt: skip
    return Trained(step + 1, model, state), told


def train(
    trained: Trained,
    task: Task,
    config: TrainConfig,
    folder: RunFolder,
    shown: Shown,
    *,
    engine: Engine = PLAIN,
) -> tuple[Trained, int | None]:
    """Train to the config's last step, or until a signal asks to stop; that signal, if one did.

    Only a model with a finite loss and gradient is saved: the newest checkpoint is one to go on
    from.

    Raises
    ------
    DivergedError
        where a number isn't finite: the run stops, its last checkpoint stays
    OSError, InputError
        where the disk refuses
    """
    validation = task.validation(config)
    seconds, tokens = 0.0, 0

    def save() -> None:
        # Complains of what isn't finite.
        engine.gradients(trained.model, validation[:1], smoothing=0.0, drop=NO_DROPOUT)
        params = tree.flatten(trained.model)
        made = checkpoint.Checkpoint(trained.step, params, trained.state, task.tokenizer)
        folder.save(made, trained.model)

    with _stop_signals() as stop:
        at = trained.step
        try:
            if trained.step == 0:
                save()
            while trained.step < config.steps and stop.signal is None:
                at = trained.step + 1
                began = time.perf_counter()
                trained, told = update(trained, task, config, engine=engine)
                seconds += time.perf_counter() - began
                tokens += int(told.pop("tokens"))
                squares = told.pop("squares")
                speed, loss = tokens / seconds, None
                last = trained.step == config.steps
                if trained.step % config.log_every == 0 or trained.step == 1 or last:
                    parts = {"gradient_norms": norms.of_parts(squares)}
                    entry = {"step": trained.step, **told, **parts}
                    log.append(folder.log, {**entry, "tokens_per_second": round(speed)})
                    seconds, tokens = 0.0, 0
                if trained.step % config.eval_every == 0 or last:
                    loss = engine.evaluate(trained.model, validation)
                    text = sample.write(trained.model, task, config, tokens=sample.SHORT)
                    entry = {"step": trained.step, "validation_loss": loss, "sample": text}
                    log.append(folder.log, entry)
                if trained.step % config.checkpoint_every == 0 or last:
                    save()
                with stop.at_broken_pipe():
                    shown.update(trained.step, loss=told["loss"], tokens_per_second=speed)
                    if loss is not None:
                        shown.note(f"step {trained.step}: validation loss {loss:.4f}")
            if trained.step < config.steps:
                with stop.at_broken_pipe():
                    shown.note(f"stopping after step {trained.step}: saving")
                save()
        except NonFiniteError as error:
            raise DivergedError(_diverged(at, error, folder)) from None
    return trained, stop.signal if trained.step < config.steps else None


def _diverged(step: int, error: NonFiniteError, folder: RunFolder) -> str:
    places = checkpoint.whole(folder.checkpoints)
    last = f"the last good checkpoint is {places[-1].name}" if places else "nothing is saved yet"
    path = shlex.quote(str(folder.path))
    return (
        f"step {step}: {error}; {last}; go on with a lower rate: "
        f"handformer train --resume {path} --set train.lr=..."
    )


class _Stop:
    """Whether to stop after the update at work, and the signal that asked for it."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def ask(self, number: int, _: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number

    @contextmanager
    def at_broken_pipe(self) -> Iterator[None]:
        """Nobody reads any more: stop as if asked to, so that nothing is lost."""
        try:
            yield
        except BrokenPipeError:
            self.signal = signal.SIGPIPE


@contextmanager
def _stop_signals() -> Iterator[_Stop]:
    """Ctrl-C and SIGTERM ask for a stop after the update at work; a second one stops at once."""
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
