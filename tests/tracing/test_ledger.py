"""The ledger against what is measured: a real step's buffers, and the memory of the process."""

import gc
import tracemalloc
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from handformer import fast, ops, tree
from handformer.errors import InputError
from handformer.models import CLASSES, Decoder, ModelConfig
from handformer.ops.drops import NO_DROPOUT, Drops, RandomDropout
from handformer.tracing.ledger import Ledger, Row, ledger
from handformer.train.fast_engine import FastEngine
from handformer.train.optimizer import AdamW
from handformer.train.step import Batch

Arrays = Mapping[str, NDArray[Any]]

FAMILIES: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {"n_kv_heads": 2, "tied": True},
    "bert": {},
    "transformer": {"shared": True},
}
SIZES: dict[str, tuple[dict[str, int], int, int]] = {  # with the batch and the length
    "odd": (
        {"n_layers": 3, "n_heads": 4, "d_k": 6, "d_model": 27, "d_ff": 37, "vocab_size": 53},
        3,
        17,
    ),
    "one": ({"n_layers": 1, "n_heads": 2, "d_model": 4, "d_ff": 3, "vocab_size": 5}, 1, 1),
    "medium": ({"n_layers": 2, "n_heads": 4, "d_model": 96, "vocab_size": 211}, 4, 48),
}


def model_config(family: str, sizes: str, dropout: float = 0.0, **others: Any) -> ModelConfig:
    few = {"n_kv_heads": 1} if sizes == "one" and family == "llama" else {}
    own = FAMILIES[family] | SIZES[sizes][0] | few
    return ModelConfig(family=family, context=60, dropout=dropout, **(own | others))  # type: ignore[arg-type]


def inputs(config: ModelConfig, batch: int, length: int) -> dict[str, Any]:
    """Arguments of `forward` such as the tasks give them."""
    rng = np.random.default_rng(1)
    drawn = {"tokens": rng.integers(config.vocab_size, size=(batch, length))}
    if config.family == "transformer":
        valid = np.ones((batch, length), np.bool_)
        drawn |= {"source": drawn["tokens"].copy(), "source_valid": valid, "valid": valid.copy()}
    return drawn


class Step:
    """All that a real step keeps."""

    def __init__(
        self, config: ModelConfig, batch: int, length: int, dtype: Any, namespace: ModuleType = ops
    ) -> None:
        self.model = CLASSES[config.family].init(config, dtype=dtype)
        self.state = AdamW().init(tree.flatten(self.model))
        self.inputs = inputs(config, batch, length)
        self.targets = self.inputs["tokens"].copy()
        drop: Drops = RandomDropout(0, 0) if config.dropout else NO_DROPOUT
        logits, self.cache = self.model.forward(**self.inputs, drop=drop, ops=namespace)
        self.loss = namespace.cross_entropy.forward(logits, self.targets, 0.0)
        self.d_logits = namespace.cross_entropy.backward(
            1.0, self.loss.probs, self.targets, self.loss.count, 0.0
        )
        self.back = self.model.backward(self.d_logits, self.cache, ops=namespace)  # type: ignore[arg-type]


def bytes_of(arrays: Arrays, known: set[int]) -> int:
    """The memory of the buffers that weren't known before."""
    buffers = {id(buffer): buffer for buffer in map(buffer_of, arrays.values())}
    total = sum(buffer.nbytes for at, buffer in buffers.items() if at not in known)
    known |= {*buffers}
    return total


def buffer_of(array: NDArray[Any]) -> NDArray[Any]:
    return buffer_of(array.base) if isinstance(array.base, np.ndarray) else array


def assert_measured(kept: Ledger, step: Step) -> None:
    """Each sum of the ledger is that of the step's buffers."""
    known: set[int] = set()
    assert kept.bytes("weight") == bytes_of(tree.flatten(step.model), known)
    assert kept.bytes("input") == bytes_of(step.inputs | {"targets": step.targets}, known)
    forward = tree.flatten(step.cache) | step.loss._asdict()
    assert kept.bytes("value") == bytes_of(forward, known)
    assert kept.bytes("weight_gradient") == bytes_of(tree.flatten(step.back.params), known)
    assert kept.bytes("gradient") == bytes_of(tree.gradients(step.back), known)
    moments = {name: array for name, array in step.state.arrays().items() if array.ndim}
    assert kept.moment_bytes == bytes_of(moments, known)


KINDS: list[tuple[str, float, Any]] = [
    *((family, rate, np.float32) for family in FAMILIES for rate in (0.0, 0.1)),
    ("gpt2", 0.1, np.float64),
]


@pytest.mark.parametrize(
    ("family", "dropout", "dtype", "sizes", "namespace"),
    [(*kind, sizes, ops) for kind in KINDS for sizes in ("odd", "one")]
    + [(family, 0.1, np.float32, "odd", fast) for family in FAMILIES],
)
def test_each_sum_is_that_of_the_buffers_of_a_real_step(
    family: str, dropout: float, dtype: Any, sizes: str, namespace: ModuleType
) -> None:
    config, (_, batch, length) = model_config(family, sizes, dropout), SIZES[sizes]
    kept = ledger(config, batch=batch, length=length, dtype=dtype)
    assert_measured(kept, Step(config, batch, length, dtype, namespace))


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_attention_that_keeps_no_scores_has_rows_of_its_own(family: str) -> None:
    config, (_, batch, length) = model_config(family, "odd", attention="flash"), SIZES["odd"]
    kept = ledger(config, batch=batch, length=length)
    assert_measured(kept, Step(config, batch, length, np.float32))
    names = {row.path.rpartition(".")[2] for row in kept.of("value")}
    assert "log_total" in names
    assert "scores" not in names


@pytest.mark.parametrize(("family", "dropout", "dtype"), KINDS)
def test_the_total_is_what_the_process_takes(family: str, dropout: float, dtype: Any) -> None:
    config, (_, batch, length) = model_config(family, "medium", dropout), SIZES["medium"]
    kept = ledger(config, batch=batch, length=length, dtype=dtype)
    Step(config, batch, length, dtype)  # what is made once is made now
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        step = Step(config, batch, length, dtype)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert step.back is not None
    assert_allclose(kept.total, after - before, rtol=0.05)


def test_the_ledger_itself_takes_next_to_nothing() -> None:
    config = ModelConfig(n_layers=12, n_heads=12, d_model=768, context=1024, vocab_size=50257)
    ledger(config, batch=1)
    tracemalloc.start()
    try:
        kept = ledger(config, batch=8)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept.parameters == 124_439_808  # as published
    assert kept.total > 39e9
    assert peak < 10e6


def small(**settings: Any) -> Ledger:
    return ledger(model_config("gpt2", "odd", **settings), batch=3, length=17)


def row(kept: Ledger, path: str) -> Row:
    (found,) = (row for row in kept.rows if path in (row.path, *row.also))
    return found


def test_a_row_says_what_is_known_of_a_value() -> None:
    assert row(small(), "blocks.1.attention.attn") == Row(
        path="blocks.1.attention.attn",
        also=("blocks.1.attention.attn_kept",),
        kind="value",
        axes=("b", "h", "t", "s"),
        shape=(3, 4, 17, 17),
        dtype="float32",
        bytes=4 * 3 * 4 * 17 * 17,
        formula="attn[b,h,t,s] = where(mask[b,h,t,s], "
        "exp(scores[b,h,t,s] - top[b,h,t]) / total[b,h,t], 0)",
        needed_by=("blocks.1.attention.d_scores", "blocks.1.attention.d_v"),
        flops=3 * 4 * 17 * (16 + 2 * 17 + 16 + 3 * 17),
    )


def test_with_dropout_the_weights_that_are_kept_are_others() -> None:
    kept = small(dropout=0.1)
    assert row(kept, "blocks.1.attention.attn").needed_by == ("blocks.1.attention.d_scores",)
    assert row(kept, "blocks.1.attention.attn_kept").needed_by == ("blocks.1.attention.d_v",)
    assert row(kept, "blocks.1.attention.keep").bytes == 3 * 4 * 17 * 17


def test_a_value_seen_again_has_one_row_and_all_its_users() -> None:
    found = row(small(), "blocks.0.mlp.x")
    assert found.path == "blocks.0.norm_2.out"
    assert found.needed_by == ("blocks.0.mlp.d_w_up",)
    assert row(small(), "head.table").kind == "weight"
    assert row(small(), "loss.d_logits").also == ("head.d_out",)


def test_a_value_handed_on_does_not_need_itself() -> None:
    for found in small().rows:
        assert not {*found.needed_by} & {found.path, *found.also}


def test_the_loss_has_the_axes_of_the_logits() -> None:
    assert row(small(), "loss.probs").axes == row(small(), "loss.logits").axes == ("b", "t", "n")
    assert row(small(), "loss.losses").axes == ("b", "t")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_axis_has_its_letter(family: str) -> None:
    for found in ledger(model_config(family, "odd", 0.1), batch=3, length=17).rows:
        assert len(found.axes) == len(found.shape), found.path


def test_what_comes_from_outside_has_no_formula() -> None:
    found = row(small(), "tokens")
    assert (found.kind, found.formula, found.flops) == ("input", None, None)
    assert found.axes == ("b", "t")


def test_what_is_only_looked_at_is_needed_by_none() -> None:
    kept = small()
    idle = {row.path.rpartition(".")[2] for row in kept.of("value") if not row.needed_by}
    assert idle == {
        "valid", "mask", "out", "x", "mean", "scores", "mid", "losses", "loss",
    }  # fmt: skip


def test_every_gradient_of_a_value_that_is_needed_is_named_as_a_row() -> None:
    kept = small(dropout=0.1)
    paths = {path for row in kept.rows for path in (row.path, *row.also)}
    assert not {by for row in kept.rows for by in row.needed_by} - paths


def test_backward_takes_about_twice_the_operations_of_forward() -> None:
    kept = ledger(model_config("gpt2", "medium"), batch=4, length=48)
    share = kept.flops("gradient", "weight_gradient") / kept.flops("value")
    assert 1.9 < share < 2.1


def test_a_ledger_shows_itself_in_a_line() -> None:
    assert repr(small()).startswith("Ledger of gpt2, 3 x 17 tokens in float32: ")


def test_moments_are_the_optimizers() -> None:
    config = model_config("gpt2", "odd")
    none, one = (ledger(config, batch=3, length=17, moments=moments) for moments in (0, 1))
    assert none.moment_bytes == 0
    assert one.total - none.total == one.bytes("weight")


def test_a_length_beyond_the_context_is_one_line() -> None:
    config = model_config("gpt2", "odd")
    for settings in ({"length": 61}, {"length": 0}, {"batch": 0}):
        with pytest.raises(InputError, match="at most the model's context, 60"):
            ledger(config, **settings)


def test_a_monster_is_out_of_memory() -> None:
    with pytest.raises(MemoryError, match="no array can have the shape"):
        ledger(ModelConfig(vocab_size=2**31 - 1, d_model=2**31 - 4, n_layers=1))


def test_with_shares_the_engine_s_memory_is_what_the_ledger_says() -> None:
    config = ModelConfig(vocab_size=1500, context=48, n_layers=2, n_heads=4, d_model=96)
    kept = ledger(config, batch=6, shares=2)
    model = Decoder.init(config)
    tokens, targets = np.random.default_rng(0).integers(1500, size=(2, 6, 48))
    with FastEngine(2, 1) as engine:
        shares = Batch({"tokens": tokens}, targets).split(2)
        engine.gradients(model, shares, smoothing=0.0, drop=NO_DROPOUT)
        measured = engine.nbytes
    assert kept.share_bytes > kept.bytes("weight_gradient")
    of_step = kept.bytes("value", "gradient", "weight_gradient") + kept.share_bytes
    assert_allclose(measured, of_step, rtol=0.05)
    alone = ledger(config, batch=6)
    assert alone.share_bytes == 0
    assert kept.total - alone.total == kept.share_bytes
    assert ledger(config, batch=1, shares=2).shares == 1
