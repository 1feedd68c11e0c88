"""A worked example as a trace: the numbers by hand, each with a formula that gives it."""

import numpy as np
import pytest

from handformer.examples import EXAMPLES, Example
from handformer.examples.traced import traced
from handformer.formula import evaluate

ALL = pytest.mark.parametrize("example", EXAMPLES.values(), ids=[*EXAMPLES])


@ALL
def test_the_numbers_by_hand_are_in_it(example: Example) -> None:
    trace = traced(example)
    for name, hand in example.expected.items():
        if name in trace:
            np.testing.assert_allclose(trace[name], np.asarray(hand, float), atol=1e-12)
    assert sum(name in trace for name in example.expected) > 0


@ALL
def test_each_value_is_what_its_formula_gives(example: Example) -> None:
    trace = traced(example)
    for value in trace.manifest.values:
        if value.scope is not None:
            right = evaluate(trace.sheet(""), value.path, trace.inside(""), trace.scalars(""))
            np.testing.assert_allclose(trace[value.path], right, atol=1e-12, err_msg=value.path)


def test_weights_that_are_one_array_are_values_of_their_own() -> None:
    trace = traced(EXAMPLES["identity"])
    assert {"x", "w_q", "w_k", "w_v", "w_o"} <= {*trace}
