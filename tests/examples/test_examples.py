"""Each worked example is a test: code, formula and the number found on paper are the same."""

from dataclasses import replace
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer.examples import EXAMPLES, Example, verify, work
from handformer.examples.example import Run, Scalars, Values
from handformer.formula import Formula

pytestmark = pytest.mark.smoke

# On paper the numbers are exact; code and formula round a few times on numbers around 1.
ROUNDING = 1e-14

each = pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda one: one.name)


@each
def test_code_and_formula_give_the_number_by_hand(example: Example) -> None:
    findings = {finding.value: finding.difference for finding in verify(example)}
    assert {name: far for name, far in findings.items() if not far <= ROUNDING} == {}


@each
def test_each_entry_that_is_expanded_comes_to_the_number_by_hand(example: Example) -> None:
    for step in work(example).steps:
        hand = np.asarray(step.hand, dtype=np.float64)
        for entry in step.entries:
            assert_allclose(entry.value, hand[entry.place], rtol=ROUNDING, atol=ROUNDING)


@each
def test_the_numbers_by_hand_come_from_no_array(example: Example) -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, tuple):
            return all(map(plain, value))
        return type(value) in {int, float, bool}

    assert [name for name, hand in example.expected.items() if not plain(hand)] == []
    assert {step.value for step in example.steps} == set(example.expected)
    assert any(step.at for step in example.steps)


@each
def test_an_example_runs_without_changing_its_inputs(example: Example) -> None:
    frozen = {name: array.copy() for name, array in example.inputs.items()}
    for array in frozen.values():
        array.flags.writeable = False
    work(replace(example, inputs=frozen))


def test_every_example_of_the_plan_is_there() -> None:
    planned = {
        "identity", "identity-backward", "causal-mask", "two-heads", "layer-norm", "softmax-large",
        "gelu", "rotation", "cross-entropy", "adamw",
    }  # fmt: skip
    assert planned <= set(EXAMPLES)
    assert next(iter(EXAMPLES)) == "identity"
    assert all(name == example.name for name, example in EXAMPLES.items())


def test_the_identity_example_gives_the_numbers_of_the_design() -> None:
    arrays = {step.step.value: step.array for step in work(EXAMPLES["identity"]).steps}
    p = exp(1 / sqrt(2)) / (exp(1 / sqrt(2)) + 1)
    assert round(p, 5) == 0.66976
    assert_allclose(arrays["scores"], [[0.7071, 0], [0, 0.7071]], atol=5e-5)
    assert_allclose(arrays["attn"], [[0.66976, 0.33024], [0.33024, 0.66976]], atol=5e-6)
    assert_allclose(arrays["out"], arrays["attn"], rtol=1e-15)


def test_a_backward_example_shows_every_gradient() -> None:
    shown = {step.value for step in EXAMPLES["identity-backward"].steps}
    assert shown >= {
        "d_context", "d_attn", "d_scores", "d_q", "d_k", "d_v", "d_x_q", "d_x_k", "d_x_v", "d_x",
        "d_w_q", "d_w_k", "d_w_v", "d_w_o",
    }  # fmt: skip


def test_a_wrong_number_by_hand_a_wrong_code_and_a_wrong_formula_are_each_found() -> None:
    example = EXAMPLES["identity"]
    wrong_hand = replace(example, expected={**example.expected, "top": (0.7071, 0.7071)})

    def wrong_code(values: Values, scalars: Scalars) -> Run:
        run = example.code(values, scalars)
        return replace(run, values={**run.values, "out": run.values["out"] + 1e-6})

    def wrong_formula(values: Values, scalars: Scalars) -> Run:
        run = example.code(values, scalars)
        unscaled = Formula.parse("scores[t,s] = sum(c, q[t,c] * k[s,c])")
        return replace(run, sheet=run.sheet.replace(unscaled))

    def far(one: Example) -> set[str]:
        return {finding.value for finding in verify(one) if not finding.difference <= ROUNDING}

    assert far(wrong_hand) == {"top"}
    assert far(replace(example, code=wrong_code)) == {"out"}
    assert far(replace(example, code=wrong_formula)) == {"scores"}
