"""The loop: what it logs and saves, how it stops, and what it does with what isn't finite."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handformer import tree
from handformer.train import checkpoint, log, loop
from handformer.train.config import TrainConfig
from handformer.train.loop import DivergedError, Trained
from handformer.train.run import Run
from tests.train import small


@dataclass
class Shown:
    """Progress that remembers, and does something after the update number `at`."""

    at: int = 0
    act: Callable[[], object] = int
    said: list[str] | None = None

    def update(self, step: int, *, loss: float, tokens_per_second: float) -> None:
        if step == self.at:
            self.act()

    def note(self, text: str) -> None:
        self.said = [*(self.said or []), text]


def train(run: Run, shown: Shown | None = None, **changes: Any) -> tuple[Trained, int | None]:
    config = run.config.train.model_copy(update=changes)
    return loop.train(run.trained, run.task, config, run.folder, shown or Shown())


def steps(run: Run, key: str) -> list[int]:
    return [entry["step"] for entry in log.read(run.folder.log) if key in entry]


def saved(run: Run) -> list[str]:
    return [place.name for place in checkpoint.whole(run.folder.checkpoints)]


def test_what_is_logged_evaluated_and_saved_and_when(tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run", steps=11, log_every=4, eval_every=5, checkpoint_every=3)
    shown = Shown()
    trained, stopped = train(run, shown)
    assert (trained.step, stopped) == (11, None)
    assert steps(run, "loss") == [1, 4, 8, 11]
    assert steps(run, "validation_loss") == [5, 10, 11]
    assert steps(run, "sample") == [5, 10, 11]
    assert saved(run) == ["step-000006", "step-000009", "step-000011"]
    losses = [e["validation_loss"] for e in small.entries(run.folder) if "validation_loss" in e]
    assert shown.said == [
        f"step {step}: validation loss {loss:.4f}"
        for step, loss in zip([5, 10, 11], losses, strict=True)
    ]
    first = small.entries(run.folder)[0]
    assert first.keys() == {"step", "loss", "lr", "gradient_norm", "gradient_norms"}
    assert [*first["gradient_norms"]] == ["embedding", "position_embedding", "blocks.0", "norm"]
    assert first["lr"] == run.config.train.lr / run.config.train.warmup


def test_every_update_drops_other_entries_and_the_same_when_made_again(tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run")
    batch = run.task.batch(run.config.train, 0, 0)

    class Same:
        def batch(self, *_: Any) -> Any:
            return batch

    def loss(step: int) -> float:
        trained = Trained(step, run.trained.model, run.trained.state)
        return loop.update(trained, Same(), run.config.train)[1]["loss"]  # type: ignore[arg-type]

    assert loss(0) == loss(0)
    assert abs(loss(0) - loss(1)) > 1e-5


def test_tokens_per_second_counts_every_micro_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The clock is read before and after an update, of which number n takes n seconds.
    clock = iter(time for n in range(1, 100) for time in (100.0 * n, 101.0 * n))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    run = small.begin(tmp_path / "run", batch=5, accumulate=3, steps=5, log_every=2)
    train(run)
    update = 3 * 5 * run.config.model.context
    speeds = [e["tokens_per_second"] for e in log.read(run.folder.log) if "loss" in e]
    assert speeds == [update, update / 2, round(2 * update / (3 + 4)), update / 5]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_update_and_all_is_saved(number: int, tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run")
    before = signal.getsignal(number)
    trained, stopped = train(run, Shown(3, lambda: signal.raise_signal(number)))
    assert (trained.step, stopped) == (3, number)
    assert saved(run)[-1] == "step-000003"
    assert signal.getsignal(number) == before


def test_a_signal_in_the_last_update_changes_nothing(tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run")
    trained, stopped = train(run, Shown(9, lambda: signal.raise_signal(signal.SIGINT)))
    assert (trained.step, stopped) == (9, None)


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    run, before = small.begin(tmp_path / "run"), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(run, Shown(6, twice))
    assert saved(run)[-1] == "step-000004"
    assert signal.getsignal(signal.SIGINT) is before


def test_where_nobody_reads_any_more_the_run_stops_and_is_saved(tmp_path: Path) -> None:
    def nobody() -> None:
        raise BrokenPipeError

    run = small.begin(tmp_path / "run")
    trained, stopped = train(run, Shown(3, nobody))
    assert (trained.step, stopped) == (3, signal.SIGPIPE)
    assert saved(run)[-1] == "step-000003"


def diverged(run: Run, **changes: Any) -> str:
    """What a run says that meets a number that isn't finite; all that it leaves is finite."""
    with pytest.raises(DivergedError) as caught:
        train(run, **changes)
    for place in checkpoint.whole(run.folder.checkpoints):
        found = checkpoint.read(place)
        assert all(np.isfinite(array).all() for array in found.params.values())
    said = str(caught.value)
    assert "\n" not in said
    return said


WILD = {"lr": 1e30, "clip": 1e30, "schedule": "constant", "warmup": 0}


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("kind", small.KINDS)
def test_a_wild_rate_is_named_and_nothing_bad_is_saved(
    kind: str, optimizer: str, every: int, tmp_path: Path
) -> None:
    run = small.begin(
        tmp_path / "run", kind, optimizer=optimizer, checkpoint_every=every, dtype="float32", **WILD
    )
    said = diverged(run)
    assert said.startswith("step 1: the " if every == 1 else ("step 1: the ", "step 2: the "))
    assert "the last good checkpoint is step-000000; go on with a lower rate: handformer" in said
    assert said.endswith(f"train --resume {tmp_path}/run --set train.lr=...")
    assert saved(run) == ["step-000000"]


def test_updated_weights_that_overflow_are_named_in_their_step(tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run", weight_decay=1e10, **WILD)
    said = diverged(run)
    assert said.startswith("step 1: the updated weight embedding.table at (0, 0) is ")


def test_a_square_that_overflows_is_named(tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run", clip=1e38)
    # A head this large makes the gradient of what stands before it as large.
    weights = tree.transform(
        run.trained.model, lambda path, w: w * (1e23 if "norm.gamma" in path else 1)
    )
    huge = Run(run.folder, run.config, run.task, Trained(0, weights, run.trained.state))
    said = diverged(huge)
    assert "step 1: the gradient of embedding.table reaches " in said
    assert "whose square overflows float32: lower the learning rate or clip the gradients" in said


def test_a_norm_that_overflows_is_named(tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run", dtype="float64")
    weights = tree.transform(
        run.trained.model, lambda path, w: w * (1e200 if "norm.gamma" in path else 1)
    )
    huge = Run(run.folder, run.config, run.task, Trained(0, weights, run.trained.state))
    assert diverged(huge).startswith("step 1: the norm of all gradients is inf; the last good ch")


def test_an_evaluation_that_is_not_finite_stops_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small.begin(tmp_path / "run", eval_every=2, checkpoint_every=2)
    update = loop.update

    def spoiled(trained: Trained, *rest: Any, **options: Any) -> Any:
        after, told = update(trained, *rest, **options)
        weights = tree.transform(after.model, lambda _, w: w * (1e30 if after.step == 4 else 1))
        return Trained(after.step, weights, after.state), told

    monkeypatch.setattr(loop, "update", spoiled)
    assert diverged(run).startswith("step 4: the value ")
    assert saved(run)[-1] == "step-000002"
    assert steps(run, "validation_loss") == [2]


@contextmanager
def full_disk_from(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The save with that number, from 1, and all later ones fail."""
    write, count = checkpoint.write, iter(range(1, 1000))

    def full(folder: Path, made: checkpoint.Checkpoint) -> Path:
        if next(count) >= number:
            raise OSError(28, "No space left on device")
        return write(folder, made)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write", full)
        yield


def test_a_full_disk_stops_the_run_and_the_last_checkpoint_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small.begin(tmp_path / "run")
    with full_disk_from(3, monkeypatch), pytest.raises(OSError, match="No space left"):
        train(run)
    assert saved(run) == ["step-000000", "step-000004"]


def test_the_rate_follows_the_schedule() -> None:
    cosine = TrainConfig(steps=11, warmup=2, lr=1.0, min_lr=0.25)
    rates = [loop.rate(cosine, step) for step in range(11)]
    assert rates[:3] == [0.5, 1.0, 1.0]
    assert rates[6] == pytest.approx(0.625)
    assert rates[-1] == 0.25
    constant = TrainConfig(steps=11, warmup=2, lr=1.0, schedule="constant")
    assert [loop.rate(constant, step) for step in (0, 1, 2, 10)] == [0.5, 1.0, 1.0, 1.0]
