"""What holds for every layer and every kind of model: formulas, gradients, dtype, manners, axes."""

from dataclasses import fields, replace
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer import layers as all_layers
from handformer import tree
from handformer.axes import Array, record
from handformer.layers import Embedding, MultiHeadAttention, SingleHeadAttention
from handformer.layers.layer import Layer
from handformer.layers.single_head import AttentionCache
from handformer.models import Decoder, Encoder, EncoderDecoder
from handformer.ops import masks
from handformer.ops.drops import NO_DROPOUT
from handformer.selfcheck import gradients
from handformer.selfcheck.cases.layers import D_MODEL, N_QUERIES, layers, lively
from handformer.selfcheck.cases.models import ModelCase, models
from handformer.selfcheck.layers import LayerCase, given, run, unexplained, verify

LAYERS: list[LayerCase] = layers(np.random.default_rng(4))
MODELS: list[ModelCase] = models(np.random.default_rng(5))
CASES = [*LAYERS, *MODELS]
BATCHED = [case for case in LAYERS if case.label.endswith("(2, 3)")]
# Inputs without leading axes.
WHOLE = {"table", "dtype"}


def by_name(case: LayerCase) -> str:
    return case.name


every_case = pytest.mark.parametrize("case", CASES, ids=by_name)
every_model = pytest.mark.parametrize("case", MODELS, ids=by_name)


def drawn() -> np.random.Generator:
    return np.random.default_rng(1)


def test_every_layer_has_a_case() -> None:
    classes = {getattr(all_layers, name) for name in all_layers.__all__} - {Layer}
    written = {cls for cls in classes if issubclass(cls, Layer)}
    assert {type(case.layer) for case in LAYERS} == written
    assert len({case.name for case in CASES}) == len(CASES)


@every_case
def test_every_value_equals_its_formula(case: LayerCase) -> None:
    ran = run(case, drawn())
    found = verify(case.layer, ran.cache, ran.back, ran.values)
    assert found
    assert not [one for one in found if not one.difference <= 1e-12]


@every_case
def test_every_value_has_a_formula_or_is_given(case: LayerCase) -> None:
    ran = run(case, drawn())
    inputs = given(case, ran.values)
    assert unexplained(case.layer, ran.cache, ran.back, ran.values, inputs=inputs) == []


def test_a_value_without_a_formula_is_named() -> None:
    case = MODELS[0]
    ran = run(case, drawn())
    copied = {**ran.values, "blocks.0.attention.x": ran.values["blocks.0.attention.x"].copy()}
    inputs = given(case, ran.values)
    found = unexplained(case.layer, ran.cache, ran.back, copied, inputs=inputs)
    assert found == ["blocks.0.attention.x"]


@every_case
def test_gradients_are_the_slopes_of_the_layers_own_forward(case: LayerCase) -> None:
    ran = run(case, drawn())
    found = gradients.verify(case, ran, drawn())
    floating = {n for n, a in case.inputs.items() if isinstance(a, np.ndarray) and a.dtype == float}
    if ran.back is not None:  # what has no weights and no input in floating point has no gradient
        assert {one.value for one in found} == set(tree.flatten(case.layer)) | floating
    assert not [one for one in found if not one.difference <= gradients.LIMIT]


@every_case
def test_float32_in_gives_float32_in_every_value(case: LayerCase) -> None:
    wide, narrow = run(case, drawn()).values, run(case.cast(np.float32), drawn()).values
    assert wide.keys() == narrow.keys()
    for path, value in wide.items():
        found = narrow[path]
        assert found.dtype == (np.float32 if value.dtype == np.float64 else value.dtype), path
        scale = np.abs(value).max(initial=1e-2)
        assert_allclose(found, value, rtol=0, atol=2e-5 * scale, err_msg=path)


@record
class Scribbler(Layer):
    """Writes to what it is given."""

    w: Array
    target: str

    def forward(self, x: Array) -> tuple[Array, tuple[Array]]:
        if self.target == "x":
            x *= 2
        if self.target == "w":
            np.add(self.w, 1, out=self.w)
        return x * self.w, (x,)

    def backward(self, d_out: Array, cache: tuple[Array], **_: Any) -> tuple[()]:
        if self.target == "d_out":
            d_out -= 1
        if self.target == "cache":
            cache[0].fill(0)
        return ()


@pytest.mark.parametrize("target", ["x", "w", "d_out", "cache"])
def test_who_writes_to_what_is_given_gets_an_error(target: str) -> None:
    """`run` hands out read-only arrays: so every test here shows that no layer writes to any."""
    case = LayerCase("", Scribbler(np.ones(3), target), {"x": np.ones((2, 3))})
    with pytest.raises(ValueError, match="read-only"):
        run(case, drawn())
    assert_array_equal(case.inputs["x"], 1)


@pytest.mark.parametrize("case", BATCHED, ids=by_name)
def test_leading_axes_are_rows_one_by_one(case: LayerCase) -> None:
    """Two leading axes, against each row without any; weights gather the gradients of all rows."""
    case = replace(case, drop=NO_DROPOUT)
    layer: Any = case.layer

    def both(inputs: dict[str, Any], d_out: Array, *later: Array) -> tuple[Array, Any]:
        out, cache = case.forward(inputs=inputs)
        back = layer.backward(d_out, cache, *later) if hasattr(layer, "backward") else None
        return out, back

    later = [part for name, part in case.sent.items() if name == "d_memory_later"]
    d_out = drawn().normal(size=case.forward()[0].shape)
    out, back = both(dict(case.inputs), d_out, *later)
    total: dict[str, Array] = {}
    for row in np.ndindex(2, 3):
        inputs = {n: a if n in WHOLE else a[row] for n, a in case.inputs.items()}
        one, one_back = both(inputs, d_out[row], *(part[row] for part in later))
        assert_allclose(out[row], one, atol=1e-13)
        for name in ("d_x", "d_memory"):
            if hasattr(back, name):
                assert_allclose(getattr(back, name)[row], getattr(one_back, name), atol=1e-13)
        for path, gradient in tree.flatten(getattr(one_back, "params", None)).items():
            total[path] = total.get(path, 0) + gradient
    for path, gradient in tree.flatten(getattr(back, "params", None)).items():
        assert_allclose(gradient, total[path], atol=1e-12, err_msg=path)


@every_model
def test_models_take_one_row_or_rows_of_rows(case: ModelCase) -> None:
    model: Any = case.model
    logits, cache = model.forward(**case.inputs)
    d_logits = drawn().normal(size=logits.shape)
    back = tree.flatten(model.backward(d_logits, cache).params)
    deeper, cache = model.forward(**{name: a[:, None] for name, a in case.inputs.items()})
    assert_allclose(deeper[:, 0], logits, atol=1e-13)
    for path, gradient in tree.flatten(model.backward(d_logits[:, None], cache).params).items():
        assert_allclose(gradient, back[path], atol=1e-12, err_msg=path)
    total: dict[str, Array] = {}
    for row in range(len(logits)):
        alone, cache = model.forward(**{name: a[row] for name, a in case.inputs.items()})
        assert_allclose(alone, logits[row], atol=1e-13)
        for path, gradient in tree.flatten(model.backward(d_logits[row], cache).params).items():
            total[path] = total.get(path, 0) + gradient
    for path, gradient in back.items():
        assert_allclose(gradient, total[path], atol=1e-12, err_msg=path)


@every_model
def test_each_block_reads_what_the_one_before_wrote(case: ModelCase) -> None:
    """What the formulas of the parts can't say: they are joined in the right order."""
    cache = run(case, drawn()).cache
    same = np.shares_memory
    names = {Decoder: ["blocks"], Encoder: ["blocks"], EncoderDecoder: ["encoder", "decoder"]}
    for stack in (getattr(cache, name) for name in names[type(case.model)]):
        assert all(same(after.x, before.out) for before, after in pairwise(stack))
    if isinstance(case.model, EncoderDecoder):
        assert same(cache.encoder[0].x, cache.source_dropout.out)
        assert same(cache.memory, cache.encoder[-1].out)
        assert all(same(block.cross.memory, cache.memory) for block in cache.decoder)
        assert same(cache.decoder[0].x, cache.target_dropout.out)
        assert same(cache.head.x, cache.decoder[-1].out)
        return
    assert same(cache.blocks[0].x, cache.dropout.out)
    last = cache.norm.x if isinstance(case.model, Decoder) else cache.head.x
    assert same(last, cache.blocks[-1].out)
    before = cache.x if isinstance(case.model, Decoder) else cache.norm.out
    assert same(cache.dropout.x, before)


def test_one_head_equals_single_head_attention() -> None:
    rng = drawn()
    single = SingleHeadAttention.init(D_MODEL, 3, rng)
    many = MultiHeadAttention(
        single.w_q, single.w_k, single.w_v, single.w_o, None, None, None, None, 1, 1
    )
    x, d_out = rng.normal(size=(2, 2, N_QUERIES, D_MODEL))
    out, cache = single.forward(x)
    one_out, one_cache = many.forward(x)
    assert_allclose(one_out, out, atol=1e-14)
    for name in ("q", "k", "v", "scores", "attn", "context"):
        assert_allclose(getattr(one_cache, name)[:, 0], getattr(cache, name), atol=1e-14)
    back, one_back = single.backward(d_out, cache), many.backward(d_out, one_cache)
    for name in ("d_q", "d_k", "d_v", "d_scores", "d_attn", "d_context"):
        assert_allclose(getattr(one_back, name)[:, 0], getattr(back, name), atol=1e-14)
    for name in ("d_x_q", "d_x_k", "d_x_v", "d_x"):
        assert_allclose(getattr(one_back, name), getattr(back, name), atol=1e-13)
    for name, gradient in tree.flatten(back.params).items():
        assert_allclose(getattr(one_back.params, name), gradient, atol=1e-13)


def test_many_heads_equal_single_ones_side_by_side() -> None:
    rng, n_heads, d_k = drawn(), 3, 4
    many = lively(MultiHeadAttention.init(D_MODEL, n_heads, rng, d_k=d_k, bias=False), rng)
    x, d_out = rng.normal(size=(2, 2, N_QUERIES, D_MODEL))
    out, cache = many.forward(x)
    back = many.backward(d_out, cache)
    outs, d_xs = [], []
    for head in range(n_heads):
        own = slice(head * d_k, (head + 1) * d_k)
        single = SingleHeadAttention(
            many.w_q[:, own], many.w_k[:, own], many.w_v[:, own], many.w_o[own]
        )
        one, one_cache = single.forward(x)
        one_back = single.backward(d_out, one_cache)
        for name in ("q", "k", "v", "scores", "attn", "context"):
            assert_allclose(getattr(cache, name)[:, head], getattr(one_cache, name), atol=1e-13)
        for name in ("d_q", "d_k", "d_v", "d_scores", "d_attn", "d_context"):
            assert_allclose(getattr(back, name)[:, head], getattr(one_back, name), atol=1e-13)
        for name in ("w_q", "w_k", "w_v"):
            found = getattr(back.params, name)[:, own]
            assert_allclose(found, getattr(one_back.params, name), atol=1e-13)
        assert_allclose(back.params.w_o[own], one_back.params.w_o, atol=1e-13)
        outs.append(one)
        d_xs.append(one_back.d_x)
    assert_allclose(out, sum(outs), atol=1e-13)
    assert_allclose(back.d_x, sum(d_xs), atol=1e-13)


def test_single_head_attention_is_as_promised() -> None:
    names = [field.name for field in fields(AttentionCache)]
    assert names == ["x", "q", "k", "v", "scores", "attn", "context"]
    rng = drawn()
    layer = SingleHeadAttention.init(d_model=200, d_k=16, rng=rng)
    for name, weight in tree.flatten(layer).items():
        assert weight.shape == ((16, 200) if name == "w_o" else (200, 16))
        places = np.sort(weight, axis=None) * sqrt(16)  # evenly from -1 to 1
        assert_allclose(places, np.linspace(-1, 1, 3200), atol=0.06)
        assert np.abs(places).max() <= 1
    assert len({float(weight[0, 0]) for weight in tree.flatten(layer).values()}) == 4
    x = rng.normal(size=(3, 200))
    out, cache = layer.forward(x)
    assert isinstance(cache, AttentionCache)
    for found, right in zip(layer.forward_v1(x), (out, cache.attn), strict=True):
        assert_array_equal(found, right)


def test_the_identity_by_hand() -> None:
    eye = np.eye(2)
    out, cache = SingleHeadAttention(eye, eye, eye, eye).forward(eye)
    assert_allclose(cache.scores, [[0.7071, 0], [0, 0.7071]], atol=5e-5)
    assert_allclose(cache.attn, [[0.66976, 0.33024], [0.33024, 0.66976]], atol=5e-6)
    assert_array_equal(out, cache.attn)


def test_positions_are_counted_from_zero_where_none_are_given() -> None:
    cases = [c for c in LAYERS if c.name.startswith("MultiHeadAttention: rotary, counted")]
    assert len(cases) == 3
    for case in cases:
        out, cache = case.forward()
        counted = np.zeros(out.shape[:-1], dtype=int) + np.arange(N_QUERIES)
        assert_array_equal(cache.positions, counted)
        given_out, _ = case.forward(inputs={**case.inputs, "positions": counted})
        assert_array_equal(out, given_out)


def test_sizes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"n_heads=2 doesn't divide d_model=7; choose one .* d_k"):
        MultiHeadAttention.init(7, 2, drawn())
    with pytest.raises(ValueError, match="n_kv_heads=3 doesn't divide n_heads=4"):
        MultiHeadAttention.init(8, 4, drawn(), n_kv_heads=3)
    assert MultiHeadAttention.init(7, 2, drawn(), d_k=3).w_q.shape == (7, 6)


def test_a_mask_that_hides_everything_gives_only_biases_and_sends_nothing() -> None:
    case = next(case for case in LAYERS if case.name == "MultiHeadAttention: grouped, leading ()")
    layer: Any = case.layer
    nothing = np.zeros((N_QUERIES, N_QUERIES), dtype=bool)
    out, cache = layer.forward(case.inputs["x"], mask=nothing)
    assert_allclose(out, np.broadcast_to(layer.b_o, out.shape), atol=1e-15)
    back = layer.backward(np.ones_like(out), cache)
    assert not cache.attn.any()
    for name in ("d_scores", "d_q", "d_k", "d_v", "d_x"):
        assert not getattr(back, name).any(), name
    seen, _ = layer.forward(case.inputs["x"], mask=masks.causal.forward(N_QUERIES, N_QUERIES))
    assert np.abs(seen - out).min(axis=-1).all()


def test_explain_shows_an_entry_forward_and_backward() -> None:
    one = np.eye(2)
    layer = SingleHeadAttention(one, one, one, one)
    _, cache = layer.forward(one)
    back = layer.backward(np.array([[1.0, 0.0], [0.0, 0.0]]), cache)
    assert str(layer.explain("scores", (0, 0), cache)) == (
        "scores[0,0] = (q[0,0] * k[0,0] + q[0,1] * k[0,1]) / sqrt(d_k)\n"
        "            = (1 * 1 + 0 * 0) / sqrt(2)\n"
        "            = 0.7071"
    )
    assert layer.explain("d_scores", (0, 1), cache, back).value == back.d_scores[0, 1]
    assert layer.explain("d_w_q", (0, 1), cache, back).value == back.params.w_q[0, 1]
    with pytest.raises(KeyError, match="did you mean scores"):
        layer.explain("socres", (0, 0), cache)


def test_explain_leaves_out_what_the_layer_does_not_have() -> None:
    rng = np.random.default_rng(3)
    layer = MultiHeadAttention.init(4, 2, rng, bias=False, dropout=0.1)
    _, cache = layer.forward(rng.normal(size=(3, 4)))
    found = layer.explain("out", (1, 2), cache)
    assert "b_o" not in str(found)
    assert found.value == pytest.approx(cache.out[1, 2], rel=1e-12)
    assert layer.explain("attn_kept", (0, 1, 2), cache).value == cache.attn_kept[0, 1, 2]


def test_explain_leaves_out_what_a_record_does_not_have() -> None:
    rng = np.random.default_rng(4)
    layer = Embedding.init(5, 3, rng)
    _, cache = layer.forward(np.array([1, 4, 1]))
    back = layer.backward(rng.normal(size=(3, 3)), cache)
    found = layer.explain("d_table", (1, 2), cache, back)
    assert str(found).startswith("d_table[1,2] = d_table_lookup[1,2]\n")
    assert found.value == back.params.table[1, 2]
