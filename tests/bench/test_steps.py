"""Steps as they are timed: plain and fast learn the same, and memory doesn't grow."""

import numpy as np
import pytest

from handformer.bench.contestant import Contestant, Running
from handformer.bench.contests import settings_of
from handformer.bench.shapes import LEARNERS
from tests.bench.small import LEARNER

A_HUNDRED = 100


def stepping(ops: str, settings: dict[str, object], file: str = "contestants/step.py") -> Running:
    return Running(Contestant(ops, file, settings | {"ops": ops}), 2)


@pytest.mark.slow
def test_plain_and_fast_have_the_same_losses_over_a_hundred_steps() -> None:
    settings = settings_of(LEARNERS[0]) | {"batch": 4}
    losses = []
    for ops in ("plain", "fast"):
        with stepping(ops, settings) as running:
            running.ready()
            losses.append(np.array([running.work(0).told["loss"] for _ in range(A_HUNDRED)]))
    plain, fast = losses
    assert plain[-10:].mean() < plain[:10].mean() - 0.05
    # A rounding of 6e-8, which AdamW makes larger: it divides noise by the size of the noise. At
    # three times the learning rate a hundred steps would make float64's roundings a million times
    # larger.
    np.testing.assert_allclose(fast, plain, rtol=1e-5)


@pytest.mark.slow
def test_a_thousand_steps_take_no_more_memory_than_a_hundred() -> None:
    with stepping("fast", settings_of(LEARNER)) as running:
        running.ready()
        for _ in range(A_HUNDRED):
            before = running.work(0).peak
        for _ in range(10 * A_HUNDRED):
            after = running.work(0).peak
    assert after - before < 1e6


@pytest.mark.slow
def test_a_step_of_gpt_2_takes_little_more_memory_than_pytorchs() -> None:
    pytest.importorskip("torch")
    settings, peaks = settings_of(LEARNERS[2]), []
    for file in ("contestants/step.py", "peers/torch_step.py"):
        with stepping("fast", settings, file) as running:
            running.ready()
            # PyTorch's allocator takes more in each of the first steps: a run is what counts.
            peaks.append([running.work(0).peak for _ in range(8)][-1])
    ours, theirs = peaks
    assert ours / theirs < 1.3
