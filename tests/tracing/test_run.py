"""A trace holds what a pass made, all of it, each value with its formula."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import handformer as hand
from handformer import tree
from handformer.formula import Sheet, evaluate
from handformer.formula.names import is_gradient
from handformer.tracing.passing import both_ways
from handformer.tracing.prompt import of_tokens
from handformer.tracing.run import run
from tests.tracing.small import FAMILIES, SOURCE, TOKENS, model, traced


@pytest.mark.parametrize("family", FAMILIES)
def test_every_number_of_a_pass_is_there(family: str) -> None:
    made_of = tree.cast(model(family), np.float64)
    prompt = of_tokens(made_of, TOKENS, source=SOURCE if family == "transformer" else None)
    made = both_ways(made_of, prompt.inputs, prompt.targets, ops=hand.ops)
    trace = traced(family)
    everything = {**tree.flatten(made_of), **tree.flatten(made.cache), **tree.gradients(made.back)}
    assert len(everything) > 100
    for path, array in everything.items():
        assert_array_equal(trace[path], array, err_msg=path, strict=True)
    assert trace.loss == float(made.last["loss"])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_value_has_a_formula_that_gives_it(family: str) -> None:
    trace = traced(family)
    checked = 0
    for value in trace.manifest.values:
        assert len(value.axes) == len(value.shape), value.path
        if value.scope is None:
            assert value.kind in ("weight", "input", "lens"), value.path
            continue
        name = value.path.removeprefix(f"{value.scope}.") if value.scope else value.path
        inside = trace.inside(value.scope)
        right = evaluate(trace.sheet(value.scope), name, inside, trace.scalars(value.scope))
        np.testing.assert_allclose(trace[value.path], right, atol=1e-12, err_msg=value.path)
        checked += 1
    assert checked > 100


@pytest.mark.parametrize("family", FAMILIES)
def test_what_comes_from_outside_is_what_was_put_in(family: str) -> None:
    names = {v.path for v in traced(family).manifest.values if v.kind == "input"}
    keeps = {name for name in names if name.rpartition(".")[2] == "keep"}
    types = {"types"} if family == "bert" else set()
    source = {"source", "source_valid"} if family == "transformer" else set()
    assert names - keeps == {"tokens", "valid", "loss.targets"} | types | source


def test_the_order_is_that_of_the_computation() -> None:
    trace = traced("gpt2")
    paths = [*trace]
    order = [
        "embedding.table", "tokens", "embedding.out", "blocks.0.attention.scores",
        "blocks.1.out", "head.out", "loss.loss", "loss.d_logits", "norm.d_gamma",
        "blocks.1.d_x", "blocks.0.attention.d_w_q", "embedding.d_table", "lens.tokens",
    ]  # fmt: skip
    assert [*map(paths.index, order)] == sorted(map(paths.index, order))
    kinds = {path: trace.entry(path).kind for path in order}
    assert kinds["embedding.d_table"] == "weight_gradient"
    assert kinds["loss.d_logits"] == "gradient"


def test_the_same_numbers_are_one_value() -> None:
    trace = traced("gpt2")
    entry = trace.entry("blocks.0.norm_1.x")
    assert entry.path == "x"
    assert {"blocks.0.x", "dropout.out"} <= {*entry.also}
    assert trace.entry("blocks.0.attention.x").path == "blocks.0.norm_1.out"


@pytest.mark.parametrize("family", FAMILIES)
def test_no_value_comes_from_itself(family: str) -> None:
    trace = traced(family)
    for value in trace.manifest.values:
        if value.scope is not None and 0 not in value.shape:
            told = trace.explain(value.path, *(0 for _ in value.shape))
            assert value.path not in {parent.path for parent in told.parents}
    rounded = [v for v in trace.manifest.values if v.scope is not None and "d_table" in v.path]
    assert all(value.tolerance for value in rounded)


def test_the_gradient_of_a_table_that_is_used_once_is_made_by_its_look_up() -> None:
    entry = traced("gpt2").entry("position_embedding.d_table")
    assert entry.path == "position_embedding.d_table_lookup"
    assert entry.kind == "weight_gradient"
    assert traced("gpt2").entry("embedding.d_table").path == "embedding.d_table"


def test_the_head_of_a_mask_is_the_models_mask() -> None:
    sheet: Sheet = traced("gpt2").sheet("")
    assert (
        repr(sheet["blocks.1.attention.mask"]) == "blocks.1.attention.mask[b,h,t,s] = mask[b,t,s]"
    )
    both = traced("transformer").sheet("")
    crossed = "decoder.0.cross.mask[b,h,t,s] = source_valid[b,s]"
    assert repr(both["decoder.0.cross.mask"]) == crossed


def test_axes_along_the_source_say_so() -> None:
    trace = traced("transformer")
    assert trace.entry("encoder.0.attention.scores").source == ("t", "s")
    assert trace.entry("decoder.0.cross.scores").source == ("s",)
    assert trace.entry("decoder.0.attention.scores").source == ()
    assert trace.entry("decoder.0.cross.d_memory").source == ("s",)
    lengths = {"t": 4, "s": 4}
    for value in trace.manifest.values:
        for letter, size in zip(value.axes, value.shape, strict=True):
            if letter in lengths:
                assert size == (4 if letter in value.source else 5), value.path


def test_the_tolerance_counts_roundings() -> None:
    trace = traced("gpt2", "float32")
    unit = 2.0**-24
    product = trace.entry("blocks.0.attention.q")
    assert product.tolerance is not None
    assert 12 * unit <= product.tolerance <= 15 * unit  # 12 products, their sum, the bias
    assert trace.entry("tokens").tolerance is None
    assert trace.entry("embedding.table").tolerance is None


def test_every_value_has_the_asked_dtype() -> None:
    for dtype in ("float32", "float64"):
        trace = traced("bert", dtype)
        kinds = {array.dtype.name for array in trace.values() if array.dtype.kind == "f"}
        assert kinds == {dtype}
        assert trace.manifest.dtype == dtype


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_ops_fill_the_same_trace(family: str) -> None:
    plain, fast = traced(family, "float64"), traced(family, "float64", "fast")
    for path in plain:
        np.testing.assert_allclose(fast[path], plain[path], atol=1e-12, err_msg=path)


def test_the_lens_is_the_models_own_head_on_every_layer() -> None:
    trace = traced("gpt2")
    made_of = tree.cast(model("gpt2"), np.float64)
    for layer, path in enumerate(("x", "blocks.0.out", "blocks.1.out")):
        normed, _ = made_of.norm.forward(trace[path])  # type: ignore[union-attr]
        logits, _ = made_of.head.forward(normed, made_of.embedding.table)  # type: ignore[union-attr]
        probs = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        best = np.argsort(-probs, axis=-1)[..., :5]
        assert_array_equal(trace["lens.tokens"][layer], best)
        np.testing.assert_allclose(
            trace["lens.probs"][layer], np.take_along_axis(probs, best, -1), rtol=1e-12
        )
        targets = trace["loss.targets"]
        aimed = np.take_along_axis(probs, np.maximum(targets, 0)[..., None], -1)[..., 0]
        np.testing.assert_allclose(trace["lens.target"][layer], aimed * (targets >= 0), rtol=1e-12)


def test_a_model_is_not_changed_and_nothing_is_drawn() -> None:
    made_of = model("gpt2", dropout=0.5)
    before = {path: array.copy() for path, array in tree.flatten(made_of).items()}
    first, second = (run(made_of, of_tokens(made_of, TOKENS)) for _ in range(2))
    for path in first:
        assert_array_equal(first[path], second[path], err_msg=path)
    for path, array in tree.flatten(made_of).items():
        assert_array_equal(array, before[path])


def test_gradients_are_named_so() -> None:
    for value in traced("llama").manifest.values:
        assert is_gradient(value.path) == (value.kind in ("gradient", "weight_gradient"))
