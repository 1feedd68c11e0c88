"""Engines: the compiled one is the plain one within rounding, and threads change no bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer import tree
from handformer.ops.cross_entropy import IGNORED
from handformer.ops.drops import RandomDropout
from handformer.train import norms
from handformer.train.engine import Engine
from handformer.train.fast_engine import FastEngine
from handformer.train.optimizer import SGD, AdamW, Optimizer, State
from handformer.train.step import NonFiniteError
from tests.train.small import KINDS, bits
from tests.train.test_step import batch, model, planted

Make = Callable[[int, int], Engine]


def trained(
    engine: Engine,
    kind: str,
    dtype: Any,
    updates: int = 3,
    pieces: int = 3,
    optimizer: Optimizer | None = None,
) -> tuple[list[float], dict[str, Any]]:
    """The losses and norms of some updates, the parts' too, and all that they end with."""
    optimizer = optimizer or AdamW(weight_decay=0.1)
    start = model(kind, dtype)
    told = []
    with engine:
        now, state = engine.own(start, optimizer.init(tree.flatten(start)))
        for step in range(updates):
            found = engine.gradients(
                now, batch(kind).split(pieces), smoothing=0.1, drop=RandomDropout(1, step, "drop")
            )
            told += [found.loss, found.norm, *norms.of_parts(found.squares).values()]
            now, state = engine.update(now, found, state, optimizer, clip=0.5, lr=0.02)
        told.append(engine.evaluate(now, batch(kind).split(pieces)))
    return told, {**tree.flatten(now), **state.arrays()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_the_compiled_engine_equals_the_plain_one(kind: str, pieces: int) -> None:
    """Also where the pieces take several rounds of two."""
    plain, plain_end = trained(Engine(2), kind, np.float64, pieces=pieces)
    fast, fast_end = trained(FastEngine(2), kind, np.float64, pieces=pieces)
    assert_allclose(fast, plain, rtol=1e-12)
    assert fast_end.keys() == plain_end.keys()
    for path, array in plain_end.items():
        # Where a gradient is 0 but for rounding (b_k's), Adam makes a full step of it.
        if not path.endswith("b_k"):
            assert_allclose(fast_end[path], array, rtol=0, atol=1e-9, err_msg=path)


@pytest.mark.parametrize("make", [Engine, FastEngine])
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_bit(make: Make, kind: str) -> None:
    one, one_end = trained(make(3, 1), kind, np.float32, pieces=4)
    for threads in (2, 3):
        several, several_end = trained(make(3, threads), kind, np.float32, pieces=4)
        assert several == one
        assert bits(several_end) == bits(one_end)


def test_shares_round_otherwise_and_no_more() -> None:
    one, _ = trained(FastEngine(1), "gpt2", np.float32, pieces=1)
    two, _ = trained(FastEngine(2), "gpt2", np.float32, pieces=2)
    assert one != two
    assert_allclose(one, two, rtol=1e-5)


def test_a_batch_is_split_into_all_its_sequences_in_order() -> None:
    whole = batch("transformer")
    for shares in (1, 2, 4, 6, 9):
        parts = whole.split(shares)
        assert len(parts) == min(shares, 6)
        assert max(len(part.targets) for part in parts) - min(len(p.targets) for p in parts) <= 1
        assert np.array_equal(np.concatenate([part.targets for part in parts]), whole.targets)
        for name, array in whole.inputs.items():
            assert np.array_equal(np.concatenate([part.inputs[name] for part in parts]), array)


def test_adamw_writes_to_the_weights_that_it_owns_and_sgd_does_not() -> None:
    start = model("gpt2")
    for optimizer, same in ((AdamW(), True), (SGD(0.9), False)):
        with FastEngine() as engine:
            now, state = engine.own(start, optimizer.init(tree.flatten(start)))
            found = engine.gradients(now, [batch("gpt2")], smoothing=0, drop=RandomDropout(1, 2))
            then, _ = engine.update(now, found, state, optimizer, clip=1.0, lr=0.01)
        before, after = tree.flatten(now), tree.flatten(then)
        assert all((before[path] is after[path]) == same for path in before)


@pytest.mark.parametrize("make", [Engine, FastEngine])
def test_sgd_and_clipping_are_the_same(make: Make) -> None:
    plain, _ = trained(Engine(2), "llama", np.float64, optimizer=SGD(0.9))
    assert_allclose(trained(make(2, 2), "llama", np.float64, optimizer=SGD(0.9))[0], plain, 1e-12)


def test_memory_is_used_again() -> None:
    start = model("gpt2")
    with FastEngine(2, 2) as engine:
        optimizer = AdamW()
        now, state = engine.own(start, optimizer.init(tree.flatten(start)))
        held = []
        for step in range(4):
            found = engine.gradients(
                now, batch("gpt2").split(2), smoothing=0, drop=RandomDropout(1, step)
            )
            now, state = engine.update(now, found, state, optimizer, clip=1.0, lr=0.01)
            engine.evaluate(now, batch("gpt2").split(2))
            held.append(engine.nbytes)
    assert held[0] > 10_000
    assert len({*held}) == 1
    assert engine.nbytes == 0


def test_the_first_number_that_is_not_finite_is_named() -> None:
    broken = planted("blocks.1.norm_1.gamma", (0,), 3e38)
    with (
        FastEngine(2, 2) as engine,
        pytest.raises(NonFiniteError, match=r"value blocks\.1\.norm_1\.out at .* is -?inf"),
    ):
        engine.gradients(broken, batch("gpt2").split(2), smoothing=0, drop=RandomDropout(1, 2))


def test_a_square_that_overflows_and_a_weight_that_does_are_named() -> None:
    start = model("gpt2", np.float32)
    optimizer = AdamW()
    with FastEngine() as engine:
        now, state = engine.own(start, optimizer.init(tree.flatten(start)))
        found = engine.gradients(now, [batch("gpt2")], smoothing=0, drop=RandomDropout(1, 2))
        found.grads["norm.gamma"][1] = 1e20
        with pytest.raises(NonFiniteError, match=r"gradient of norm\.gamma reaches 1e\+20, whose"):
            engine.update(now, found, state, optimizer, clip=1e30, lr=0.01)
    with FastEngine() as engine:
        now, state = engine.own(model("gpt2", np.float32), optimizer.init(tree.flatten(start)))
        found = engine.gradients(now, [batch("gpt2")], smoothing=0, drop=RandomDropout(1, 2))
        with pytest.raises(NonFiniteError, match=r"the updated weight .* is (-?inf|nan)"):
            engine.update(now, found, state, optimizer, clip=1.0, lr=1e38)


def test_what_is_not_contiguous_or_may_not_be_written_is_copied() -> None:
    def awkward(path: str, array: Any) -> Any:
        found = np.asfortranarray(array) if path.endswith("w_q") else array.copy()
        found.flags.writeable = not path.endswith("w_k")
        return found

    start = tree.transform(model("gpt2"), awkward)
    moments = {"m": tree.flatten(start), "v": tree.flatten(start)}
    now, state = FastEngine().own(start, State(0, moments))
    for array in (*tree.flatten(now).values(), *state.moments["m"].values()):
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert bits(now) == bits(start)
    assert batch("gpt2").targets.min() == IGNORED


def test_an_engine_may_be_used_again_and_needs_somebody_to_work() -> None:
    engine = FastEngine(2, 2)
    told = []
    for _ in range(2):
        with engine:
            found = engine.gradients(
                model("gpt2"), batch("gpt2").split(2), smoothing=0, drop=RandomDropout(1, 2)
            )
            told.append((found.loss, found.norm))
    assert told[0] == told[1]
    with pytest.raises(ValueError, match="0 shares"):
        FastEngine(0, 1)
    with pytest.raises(ValueError, match="-1 threads"):
        FastEngine(2, -1)


def test_weights_that_it_does_not_own_are_refused_not_half_updated() -> None:
    turned = tree.transform(model("gpt2"), lambda _, array: np.asfortranarray(array))
    optimizer = AdamW()
    state = optimizer.init(tree.flatten(turned))
    with FastEngine() as engine:
        found = engine.gradients(turned, [batch("gpt2")], smoothing=0, drop=RandomDropout(1, 2))
        with pytest.raises(ValueError, match="let the engine own the model"):
            engine.update(turned, found, state, optimizer, clip=1.0, lr=0.01)
