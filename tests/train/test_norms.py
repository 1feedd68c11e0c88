"""The norms of parts: by hand, and their squares are the global norm's."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handformer import tree
from handformer.axes import Array
from handformer.ops.drops import NO_DROPOUT
from handformer.train import log, loop, norms
from handformer.train.clipping import global_norm
from handformer.train.engine import Engine
from handformer.train.fast_engine import FastEngine
from handformer.train.loop import Trained
from tests.train import small
from tests.train.small import KINDS
from tests.train.test_loop import Shown
from tests.train.test_step import batch, model

PARTS = {
    "gpt2": ["embedding", "position_embedding", "blocks.0", "blocks.1", "norm"],
    "llama": ["embedding", "blocks.0", "blocks.1", "norm", "head"],
    "bert": ["embedding", "position_embedding", "type_embedding", "norm", "blocks.0", "blocks.1",
             "head"],
    "transformer": ["encoder.0", "encoder.1", "target_embedding", "decoder.0", "decoder.1"],
}  # fmt: skip


@pytest.mark.smoke
def test_by_hand() -> None:
    grads: dict[str, Array] = {
        "embedding.table": np.array([[1.0, 2.0], [2.0, 4.0]]),
        "blocks.0.mlp.w_up": np.array([[3.0]]),
        "blocks.0.norm_1.gamma": np.array([0.0, 4.0]),
        "blocks.10.norm_1.gamma": np.array([2.0]),
        "norm.gamma": np.array([0.0]),
    }
    sums = norms.squares(grads)
    assert sums == {
        "embedding.table": 25.0,
        "blocks.0.mlp.w_up": 9.0,
        "blocks.0.norm_1.gamma": 16.0,
        "blocks.10.norm_1.gamma": 4.0,
        "norm.gamma": 0.0,
    }
    parts = norms.of_parts(sums)
    assert parts == {"embedding": 5.0, "blocks.0": 5.0, "blocks.10": 2.0, "norm": 0.0}
    assert norms.norm(sums.values()) == math.sqrt(54)


@pytest.mark.parametrize("make", [Engine, FastEngine])
@pytest.mark.parametrize("kind", KINDS)
def test_the_squares_of_the_parts_are_those_of_the_global_norm(kind: str, make: Any) -> None:
    with make(2, 2) as engine:
        found = engine.gradients(model(kind), batch(kind).split(3), smoothing=0.1, drop=NO_DROPOUT)
        parts = norms.of_parts(found.squares)
        assert found.squares.keys() == tree.flatten(model(kind)).keys()
        right = global_norm(found.grads)
    assert found.norm == pytest.approx(right, rel=1e-14)
    assert math.hypot(*parts.values()) == pytest.approx(right, rel=1e-14)
    assert [*parts] == PARTS[kind]
    assert min(parts.values()) > 1e-6


@pytest.mark.parametrize("ops", ["plain", "fast"])
def test_the_log_tells_them_wherever_it_tells_of_an_update(ops: str, tmp_path: Path) -> None:
    run = small.begin(tmp_path / "run", steps=5, log_every=2)
    with (FastEngine if ops == "fast" else Engine)(2) as engine:
        owned = Trained(0, *engine.own(run.trained.model, run.trained.state))
        loop.train(owned, run.task, run.config.train, run.folder, Shown(), engine=engine)
    told = [entry for entry in log.read(run.folder.log) if "loss" in entry]
    assert [entry["step"] for entry in told] == [1, 2, 4, 5]
    for entry in told:
        squares = sum(norm**2 for norm in entry["gradient_norms"].values())
        assert squares == pytest.approx(entry["gradient_norm"] ** 2, rel=1e-14)
    assert len({entry["gradient_norms"]["blocks.0"] for entry in told}) == len(told)


def test_a_number_that_json_does_not_know_is_null_in_a_part_too(tmp_path: Path) -> None:
    log.append(tmp_path / "log", {"step": 1, "gradient_norms": {"a": math.inf, "b": np.float32(2)}})
    assert log.read(tmp_path / "log") == [{"step": 1, "gradient_norms": {"a": None, "b": 2.0}}]
