"""The loop: update after update, with evaluations, checkpoints and a log on the way."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

import handformer.ops as plain
from handformer import tree
from handformer.models import Model
from handformer.ops.dropout import Dropping
from handformer.train import checkpoint, clipping, log, schedule
from handformer.train.config import TrainConfig
from handformer.train.optimizer import SGD, AdamW, Optimizer, State
from handformer.train.progress import Shown
from handformer.train.run_folder import RunFolder
from handformer.train.step import NonFiniteError, evaluate, gradients
from handformer.train.tasks import Task


@dataclass(frozen=True)
class Trained:
    """A model, the optimizer's state, and the number of updates that made them."""

    step: int
    model: Model
    state: State

    def checkpoint(self) -> checkpoint.Checkpoint:
        """All of it, for the disk."""
        return checkpoint.Checkpoint(self.step, tree.flatten(self.model), self.state)


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
        step, lr=config.lr, min_lr=config.min_lr, warmup=config.warmup, steps=config.steps
    )


def update(
    trained: Trained, task: Task, config: TrainConfig, *, ops: ModuleType = plain
) -> tuple[Trained, dict[str, float]]:
    """One update, and what the log says of it. The same arguments give the same bits.

    Raises
    ------
    NonFiniteError
        where the loss or a gradient isn't finite
    """
    step = trained.step
    batches = [task.batch(config, step, micro) for micro in range(config.accumulate)]
    drop = Dropping(config.seed, step, "dropout")
    found = gradients(trained.model, batches, smoothing=config.smoothing, drop=drop, ops=ops)
    grads, norm = clipping.clip(found.grads, config.clip)
    lr = rate(config, step)
    params, state = optimizer(config).update(tree.flatten(trained.model), grads, trained.state, lr)
    told = {
        "loss": found.loss, "lr": lr, "gradient_norm": norm,
        "tokens": sum(batch.tokens for batch in batches),
    }  # fmt: skip
    return Trained(step + 1, tree.replace(trained.model, params), state), told


def train(
    trained: Trained,
    task: Task,
    config: TrainConfig,
    folder: RunFolder,
    shown: Shown,
    *,
    ops: ModuleType = plain,
) -> tuple[Trained, bool]:
    """Train to the config's last step, or until asked to stop; also whether the end was reached.

    Raises
    ------
    DivergedError
        where a number isn't finite: the run stops, its last checkpoint stays
    """
    validation = task.validation(config)
    if trained.step == 0:
        folder.save(trained.checkpoint(), task.tokenizer, trained.model)
    seconds, tokens = 0.0, 0
    with _stop_signals() as stopped:
        while trained.step < config.steps and not stopped.is_set():
            began = time.perf_counter()
            try:
                trained, told = update(trained, task, config, ops=ops)
            except NonFiniteError as error:
                raise DivergedError(_diverged(trained.step + 1, error, folder)) from None
            seconds += time.perf_counter() - began
            tokens += int(told.pop("tokens"))
            speed = tokens / seconds
            shown.update(trained.step, loss=told["loss"], tokens_per_second=speed)
            last = trained.step == config.steps
            if trained.step % config.log_every == 0 or trained.step == 1 or last:
                entry = {"step": trained.step, **told, "tokens_per_second": round(speed)}
                log.append(folder.log, entry)
                seconds, tokens = 0.0, 0
            if trained.step % config.eval_every == 0 or last:
                loss = evaluate(trained.model, validation, ops=ops)
                log.append(folder.log, {"step": trained.step, "validation_loss": loss})
                shown.note(f"step {trained.step}: validation loss {loss:.4f}")
            if trained.step % config.checkpoint_every == 0 or last:
                folder.save(trained.checkpoint(), task.tokenizer, trained.model)
    if trained.step < config.steps:
        folder.save(trained.checkpoint(), task.tokenizer, trained.model)
    return trained, trained.step == config.steps


def _diverged(step: int, error: NonFiniteError, folder: RunFolder) -> str:
    last = checkpoint.whole(folder.checkpoints)[-1].name
    return (
        f"step {step}: {error}. The last good checkpoint is {last}; "
        f"go on with a lower rate: handformer train --resume {folder.path} --set train.lr=..."
    )


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for a stop after the update at work; a second Ctrl-C stops at once."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def ask(number: int, _: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
