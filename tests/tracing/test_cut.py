"""Less of a trace, and its size beforehand."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import handformer as hand
from handformer.tracing.cut import Cut, forecast
from handformer.tracing.trace import Trace
from tests.tracing.small import FAMILIES, TOKENS, model, traced


def test_only_what_fits_stays() -> None:
    trace = hand.trace(model("gpt2"), tokens=TOKENS, only=["blocks.1.attention.*", "norm.out"])
    for path in trace:
        names = (path, *trace.entry(path).also)
        assert any(one.startswith("blocks.1.attention.") or one == "norm.out" for one in names)
    assert {"blocks.1.attention.d_scores", "blocks.1.attention.w_q", "norm.out"} <= {*trace}
    assert not trace.entry("blocks.0.out").kept
    with pytest.raises(KeyError, match=r"blocks.0.out isn't in this trace"):
        trace["blocks.0.out"]


def test_a_value_stays_under_whichever_of_its_paths_was_asked_for() -> None:
    trace = hand.trace(model("gpt2"), tokens=TOKENS, only="blocks.0.attention.x")
    assert [*trace] == ["blocks.0.norm_1.out"]


def test_without_weights() -> None:
    trace = hand.trace(model("gpt2"), tokens=TOKENS, weights=False)
    kinds = {trace.entry(path).kind for path in trace}
    assert kinds == {"input", "value", "gradient", "lens"}


def test_some_positions() -> None:
    whole, cut = traced("gpt2"), Cut(positions=(3, 1)).of(traced("gpt2"))
    assert_array_equal(cut["blocks.0.out"], whole["blocks.0.out"][:, [3, 1]])
    assert_array_equal(
        cut["blocks.0.attention.attn"], whole["blocks.0.attention.attn"][:, :, [3, 1]]
    )
    assert_array_equal(cut["blocks.0.attention.k"], whole["blocks.0.attention.k"])
    assert cut.manifest.positions == (3, 1)


def test_positions_are_the_targets_of_an_encoder_decoder() -> None:
    whole, cut = traced("transformer"), Cut(positions=(3,)).of(traced("transformer"))
    crossed = "decoder.0.cross.attn"
    assert_array_equal(cut[crossed], whole[crossed][:, :, [3]])
    assert_array_equal(cut["encoder.0.out"], whole["encoder.0.out"])


def test_a_cut_trace_is_a_file_too(tmp_path: Path) -> None:
    cut = Cut(only=("*.attn",), positions=(0,), weights=False).of(traced("bert"))
    cut.save(tmp_path / "cut.safetensors")
    back = Trace.load(tmp_path / "cut.safetensors")
    assert back.manifest == cut.manifest
    assert [*back] == [*cut]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cut", [Cut(), Cut(only=("blocks.0.*",)), Cut(weights=False)])
def test_the_forecast_is_what_the_arrays_take(family: str, cut: Cut) -> None:
    if family == "transformer":
        cut = Cut(
            only=tuple(one.replace("blocks", "decoder") for one in cut.only), weights=cut.weights
        )
    made = model(family, d_model=24)
    rows = [[1, 2, 3, 4, 5, 6]] * 2
    trace = cut.of(hand.trace(made, tokens=rows, source=rows if family == "transformer" else None))
    size = sum(array.nbytes for path, array in trace.items() if not path.startswith("lens"))
    assert forecast(made.config, rows, np.float32, cut) == pytest.approx(size, rel=0.1)
