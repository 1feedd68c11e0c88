"""Which formulas need a value: read off the layers' sheets."""

from dataclasses import replace

import numpy as np

from handformer.axes import record
from handformer.formula import Sheet
from handformer.layers import MLP, Layer, MultiHeadAttention, PreNormBlock
from handformer.layers.norm import RMSNorm
from handformer.models import Decoder, ModelConfig
from handformer.tracing.stated import stated

RNG = np.random.default_rng(0)


def decoder(**sizes: object) -> Decoder:
    config = ModelConfig.read({"d_model": 8, "n_heads": 2, "n_layers": 2, "vocab_size": 9, **sizes})
    return Decoder.init(config)


def test_a_product_needs_both_factors() -> None:
    told = stated(MultiHeadAttention.init(8, 2, RNG), None, None)
    assert told.needed_by["q"] == ["d_k"]
    assert told.needed_by["k"] == ["d_q"]
    assert told.needed_by["attn"] == ["d_scores"]
    assert told.needed_by["context"] == ["d_w_o"]
    assert told.needed_by["x"] == ["d_w_q", "d_w_k", "d_w_v"]


def test_what_no_gradient_needs_is_not_there() -> None:
    told = stated(MultiHeadAttention.init(8, 2, RNG), None, None)
    assert not {"scores", "out", "mask"} & {*told.needed_by}
    assert {"scores", "out"} <= {*told.formulas}


def test_forward_formulas_need_nothing() -> None:
    told = stated(RMSNorm.init(8), None, None)
    assert told.needed_by["x_hat"] == ["d_x", "d_gamma"]
    assert told.needed_by["rrms"] == ["d_x"]
    assert "x" not in told.needed_by


def test_parts_stand_at_their_paths() -> None:
    model = decoder()
    told = stated(model, None, None)
    assert isinstance(model.blocks[1], PreNormBlock)
    assert told.needed_by["blocks.1.mlp.post"] == ["blocks.1.mlp.d_w_down"]
    assert repr(told.formulas["blocks.1.d_x"]) == "d_x[b,t,i] = d_mid[b,t,i] + norm_1.d_x[b,t,i]"
    assert told.needed_by["blocks.1.norm_1.d_x"] == ["blocks.1.d_x"]


def test_absent_parts_say_nothing() -> None:
    tokens = np.zeros((1, 3), np.int64)
    model = decoder(family="llama", tied=False)
    logits, cache = model.forward(tokens)
    back = model.backward(logits, cache)
    told = stated(model, cache, back)
    table = told.formulas["embedding.d_table"]
    assert repr(table) == "d_table[n,i] = d_table_lookup[n,i]"
    assert "embedding.d_table_elsewhere" not in told.needed_by
    assert repr(told.formulas["x"]) == "x[b,t,i] = embedding.out[b,t,i]"


def test_a_part_may_be_absent_in_one_place_only() -> None:
    model = decoder()
    logits, cache = model.forward(np.zeros((1, 3), np.int64))
    told = stated(model, cache, model.backward(logits, cache))
    tied, own = told.formulas["embedding.d_table"], told.formulas["position_embedding.d_table"]
    assert repr(tied) == "d_table[n,i] = d_table_lookup[n,i] + d_table_elsewhere[n,i]"
    assert repr(own) == "d_table[n,i] = d_table_lookup[n,i]"


def test_axes_come_from_the_left_or_from_a_mention() -> None:
    told = stated(decoder(), None, None)
    assert told.axes["blocks.0.attention.scores"] == ("b", "h", "t", "s")
    assert told.axes["blocks.0.attention.keep"] == ("b", "h", "t", "s")
    assert told.axes["blocks.0.mlp.w_up"] == ("i", "f")
    assert told.axes["blocks.0.attention.w_q"] == ("i", "j")
    assert told.axes["embedding.tokens"] == ("b", "t")


@record
class Two(Layer):
    """Two networks that differ in their settings, or in what they lack."""

    first: MLP
    second: MLP


def test_parts_of_one_class_may_say_different_things() -> None:
    plain, other = MLP.init(4, 6, RNG), MLP.init(4, 6, RNG, activation="relu")
    told = stated(Two(plain, other), None, None)
    assert "tanh" in repr(told.formulas["first.post"])
    assert "tanh" not in repr(told.formulas["second.post"])
    told = stated(Two(plain, replace(plain, b_up=None)), None, None)
    assert "b_up" in repr(told.formulas["first.pre"])
    assert "b_up" not in repr(told.formulas["second.pre"])


def test_other_sheets_stand_beside_the_model() -> None:
    told = stated(RMSNorm.init(8), None, None, loss=Sheet.parse("y[t] = x[t]\nd_x[t] = d_y[t]"))
    assert repr(told.formulas["loss.y"]) == "y[t] = x[t]"
    assert told.needed_by["loss.d_y"] == ["loss.d_x"]
