"""A layer that stands alone: every number that it makes, under the formulas that make it."""

import numpy as np
import pytest

from handformer import tree
from handformer.layers import LayerNorm, MultiHeadAttention, SingleHeadAttention
from handformer.ops import masks
from handformer.tracing.layer import of_layer
from handformer.tracing.scopes import Scope

RNG = np.random.default_rng(2)
X, D_OUT = RNG.normal(size=(2, 3, 5, 6))


@pytest.mark.parametrize("rows", [0, slice(None)], ids=["one row", "several"])
def test_every_number_of_both_ways_is_there(rows: int | slice) -> None:
    layer = SingleHeadAttention.init(6, 4, RNG)
    x, d_out = X[rows], D_OUT[rows]
    trace = of_layer(layer, {"x": x}, d_out, name="one")
    out, cache = layer.forward(x)
    back = layer.backward(d_out, cache)
    everything = {
        **tree.flatten(layer), **tree.flatten(cache), **tree.gradients(back), "out": out
    }  # fmt: skip
    for path, array in everything.items():
        np.testing.assert_array_equal(trace[path], array, err_msg=path)
    assert {v.path for v in trace.manifest.values if v.kind == "input"} == {"x", "d_out"}
    assert trace.entry("attn").axes == (("b",) if x.ndim == 3 else ()) + ("t", "s")
    assert trace.scalars("") == {"d_k": 4, "d_model": 6, "n_queries": 5, "n_keys": 5}


def test_formulas_before_it_make_its_mask() -> None:
    layer = MultiHeadAttention.init(6, 3, RNG)
    numbers = {"n_queries": 5, "n_keys": 5, "width": 2}
    before = Scope("window", "WindowMask", masks.window.FORMULAS, numbers)
    trace = of_layer(layer, {"x": X}, D_OUT, name="seen", before=before)
    right = masks.window.forward(5, 5, 2)
    assert (trace["window.mask"] == right).all()
    assert (trace["attn"][..., ~right] == 0).all()
    explained = str(trace.explain("mask", 0, 1, 3, 4))
    assert "window.mask" in explained


def test_gradients_come_after_all_values() -> None:
    trace = of_layer(LayerNorm.init(6), {"x": X}, D_OUT, name="norm")
    assert [*trace] == [
        "gamma", "beta", "x", "d_out", "mean", "rstd", "x_hat", "out",
        "d_x_hat", "d_x", "d_gamma", "d_beta",
    ]  # fmt: skip
