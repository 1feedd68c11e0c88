"""Gradients: accumulated by counts, and a number that isn't finite is found where it began."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer import tree
from handformer.axes import Array, IntArray, record
from handformer.formula import evaluate
from handformer.formula.mutate import mutations
from handformer.models import CLASSES, Model, ModelConfig
from handformer.ops.cross_entropy import IGNORED
from handformer.ops.drops import RandomDropout
from handformer.train import step
from handformer.train.step import Batch, NonFiniteError, gradients
from tests.train.small import KINDS

SIZES = {"vocab_size": 7, "context": 6, "n_layers": 2, "n_heads": 2, "d_model": 8}


def model(kind: str, dtype: Any = np.float64) -> Model:
    shared = {"shared": True} if kind == "transformer" else {}
    made = CLASSES[kind].init(ModelConfig(family=kind, **SIZES, **shared), seed=1, dtype=dtype)  # type: ignore[arg-type]
    # As narrow as most new weights are, half of the gradients would be next to nothing.
    wider = 1 if kind == "transformer" else 10
    return tree.transform(made, lambda _, w: w * wider if w.ndim == 2 else w)


def batch(kind: str, rows: slice = slice(None)) -> Batch:
    """Six rows, of which the later ones have more targets that count; some tokens are padding."""
    rng = np.random.default_rng(2)
    tokens, targets = rng.integers(7, size=(2, 6, 5))
    targets[np.arange(5) > np.arange(6)[:, None]] = IGNORED
    inputs: dict[str, Any] = {"tokens": tokens[rows]}
    valid = np.ones((6, 5), dtype=np.bool_)
    valid[1, 3:] = False
    inputs["valid"] = valid[rows]
    if kind == "transformer":
        inputs |= {"source": rng.integers(7, size=(6, 4))[rows], "source_valid": valid[rows, 1:]}
    return Batch(inputs, targets[rows])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_micro_batches_with_unequal_counts_are_as_one_batch(kind: str, smoothing: float) -> None:
    whole = gradients(model(kind), [batch(kind)], smoothing=smoothing)
    parts = [batch(kind, slice(0, 2)), batch(kind, slice(2, 3)), batch(kind, slice(3, 6))]
    assert [part.count for part in parts] == [3, 3, 14]
    sums = gradients(model(kind), parts, smoothing=smoothing)
    assert sums.loss == pytest.approx(whole.loss, rel=0, abs=1e-12)
    assert sums.grads.keys() == whole.grads.keys() == tree.flatten(model(kind)).keys()
    for path, gradient in whole.grads.items():
        assert_allclose(sums.grads[path], gradient, rtol=0, atol=1e-12, err_msg=path)
        assert np.abs(gradient).max() > 1e-6 or path.endswith("b_k"), path


def test_code_equals_the_formulas_and_every_mistake_in_them_is_seen() -> None:
    parts = [batch("gpt2", rows) for rows in (slice(0, 2), slice(2, 3), slice(3, 6))]
    each = [gradients(model("gpt2"), [part]) for part in parts]
    together = gradients(model("gpt2"), parts)
    path = "blocks.0.attention.w_q"
    arrays = {
        "counts": np.array([part.count for part in parts]),
        "losses": np.array([one.loss for one in each]),
        "d_each": np.stack([one.grads[path] for one in each]),
    }
    right = {"loss": together.loss, "d_w": together.grads[path]}
    for formula in step.FORMULAS:
        found = evaluate(step.FORMULAS, formula.name, arrays, {})
        assert_allclose(found, right[formula.name], rtol=1e-10, atol=1e-13)
        for wrong in mutations(formula):
            sheet, given = step.FORMULAS.replace(wrong.formula), {**arrays, **right}
            found = evaluate(sheet, formula.name, given, {})
            assert not np.allclose(found, right[formula.name], rtol=1e-6), wrong.what


@record
class Bigrams:
    """The smallest model: a row of logits for each token."""

    table: Array

    def forward(self, tokens: IntArray, **_: Any) -> tuple[Array, IntArray]:
        return self.table[tokens], tokens

    def backward(self, d_logits: Array, tokens: IntArray, **_: Any) -> Any:
        d_table = np.zeros_like(self.table)
        np.add.at(d_table, tokens, d_logits)
        return BigramsBack(Bigrams(d_table))


@record
class BigramsBack:
    params: Bigrams


def test_the_loss_is_a_sum_over_a_sum() -> None:
    """Losses 1, 1, 1, 1 and 5: 9/5 = 1.8, where a mean of means says 3."""
    # Two logits 0 and x have the loss log(1 + e^x) at the first: x = log(e^loss - 1).
    bigrams: Any = Bigrams(np.array([[0, math.log(math.exp(loss) - 1)] for loss in (1, 5)]))
    four, one = (Batch({"tokens": np.full((1, n), t)}, np.zeros((1, n), dtype=np.int64))
                 for n, t in ((4, 0), (1, 1)))  # fmt: skip
    found = gradients(bigrams, [four, one])
    assert found.loss == pytest.approx(1.8, abs=1e-12)
    assert step.evaluate(bigrams, [four, one]) == pytest.approx(1.8, abs=1e-12)
    # The gradient of a logit is its probability less 1 at the target: a fifth of it a token.
    probs = [math.exp(-1), math.exp(-5)]
    assert_allclose(found.grads["table"][:, 0], [(probs[0] - 1) * 4 / 5, (probs[1] - 1) / 5])


@pytest.mark.parametrize("kind", KINDS)
def test_every_micro_batch_is_dropped_anew_and_can_be_drawn_again(kind: str) -> None:
    shared = {"shared": True} if kind == "transformer" else {}
    config = ModelConfig(family=kind, dropout=0.5, **SIZES, **shared)  # type: ignore[arg-type]
    dropped = CLASSES[kind].init(config, seed=1)
    one, two = (
        gradients(dropped, [batch(kind)] * count, drop=RandomDropout(1, 2, "place")).loss
        for count in (1, 2)
    )
    assert one == gradients(dropped, [batch(kind)], drop=RandomDropout(1, 2, "place")).loss
    assert abs(two - one) > 1e-4
    assert step.evaluate(dropped, [batch(kind)]) == gradients(dropped, [batch(kind)]).loss


def test_targets_that_are_all_ignored_give_zeros() -> None:
    none = Batch({"tokens": np.zeros((1, 3), dtype=np.int64)}, np.full((1, 3), IGNORED))
    found = gradients(model("gpt2"), [none])
    assert found.loss == 0
    assert step.evaluate(model("gpt2"), [none]) == 0
    assert not any(gradient.any() for gradient in found.grads.values())


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_is_the_same_however_it_is_cut(kind: str) -> None:
    whole = step.evaluate(model(kind), [batch(kind)])
    cut = step.evaluate(model(kind), [batch(kind, slice(0, 1)), batch(kind, slice(1, 6))])
    assert cut == pytest.approx(whole, rel=0, abs=1e-12)


def test_all_that_is_read_counts_as_tokens() -> None:
    assert batch("gpt2").tokens == 6 * 5
    assert batch("transformer").tokens == 6 * (5 + 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_keep_the_dtype(kind: str, dtype: Any) -> None:
    found = gradients(model(kind, dtype), [batch(kind)] * 2, smoothing=0.1)
    assert {gradient.dtype for gradient in found.grads.values()} == {np.dtype(dtype)}


def planted(path: str, at: tuple[int, ...], value: float) -> Model:
    """A float32 model in which one weight is `value`."""
    whole = model("gpt2", np.float32)
    array = tree.flatten(whole)[path].copy()
    array[at] = value
    return tree.replace(whole, tree.flatten(whole) | {path: array})


@pytest.mark.parametrize(
    ("path", "at", "value", "complaint"),
    [
        # A number that isn't finite shows up in many values: named is where it was first.
        ("blocks.1.mlp.w_up", (2, 3), math.nan, r"weight blocks\.1\.mlp\.w_up at \(2, 3\) is nan"),
        ("blocks.0.norm_2.gamma", (1,), math.inf, r"weight blocks\.0\.norm_2\.gamma at \(1,\) is"),
        ("blocks.1.norm_1.gamma", (0,), 3e38, r"value blocks\.1\.norm_1\.out at .* is -?inf"),
        ("norm.gamma", (0,), 1e38, r"value head\.out at .* is -?inf"),
    ],
)  # fmt: skip
def test_the_first_number_that_is_not_finite_is_named(
    path: str, at: tuple[int, ...], value: float, complaint: str
) -> None:
    broken = planted(path, at, value)
    if path == "norm.gamma":
        broken = tree.transform(broken, lambda name, w: w * 1e3 if name == "embedding.table" else w)
    for compute in (gradients, step.evaluate):
        with pytest.raises(NonFiniteError, match=complaint):
            compute(broken, [batch("gpt2")])


def test_a_gradient_that_overflows_alone_is_named() -> None:
    # Forward all stays small: q, k and v are 0 whatever their input. Not so d_w_v = x^T d_v.
    factors = {
        "blocks.1.norm_1.gamma": 1e30,
        "blocks.1.attention.w_o": 1e15,
        **{f"blocks.1.attention.w_{name}": 0.0 for name in "qkv"},
    }
    broken = tree.transform(model("gpt2", np.float32), lambda path, w: w * factors.get(path, 1))
    assert step.evaluate(broken, [batch("gpt2")]) < 3
    with pytest.raises(NonFiniteError, match=r"the gradient blocks\.1\.attention\.d_w_v at .* is"):
        gradients(broken, [batch("gpt2")])


def test_sums_of_micro_batches_that_overflow_are_found() -> None:
    class Large(Bigrams):
        def backward(self, d_logits: Array, tokens: IntArray, **_: Any) -> Any:
            return BigramsBack(Bigrams(np.full_like(self.table, 3e38)))

    large: Any = Large(np.zeros((2, 2), dtype=np.float32))
    one = Batch({"tokens": np.zeros((1, 1), dtype=np.int64)}, np.zeros((1, 1), dtype=np.int64))
    gradients(large, [one])
    with pytest.raises(NonFiniteError, match=r"the gradient table at \(0, 0\) is inf"):
        gradients(large, [one, one])
