"""A case: what is given stands as it was given, what is expected in float64, and nothing lacks."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import handformer as hand
from handformer import tree
from handformer.tracing.case import as_given, case, require
from handformer.tracing.cut import Cut
from handformer.tracing.prompt import of_tokens
from handformer.tracing.trace import Trace
from tests.tracing.small import FAMILIES, SOURCE, TOKENS, model


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_as_they_were_and_all_else_is_exact(family: str) -> None:
    given = model(family)
    source = SOURCE if family == "transformer" else None
    made = case(given, of_tokens(given, TOKENS, source=source), name="mine")
    whole = hand.trace(given, tokens=TOKENS, source=source, dtype=np.float64)
    assert [*made] == [path for path in whole if not path.startswith("lens.")]
    weights = tree.flatten(given)
    for path in made:
        if path in weights:
            assert made[path].dtype == np.float32
            assert_array_equal(made[path], weights[path], strict=True)
        else:
            assert_array_equal(made[path], whole[path], err_msg=path, strict=True)
        assert made.entry(path).dtype == made[path].dtype.name
    assert (made.manifest.name, made.manifest.config) == ("mine", whole.manifest.config)


@pytest.fixture
def right() -> Trace:
    return as_given(hand.trace(model("gpt2"), tokens=TOKENS, dtype=np.float64), {})


def test_what_was_left_out_cannot_be_checked(right: Trace) -> None:
    with pytest.raises(hand.InputError, match=r"was left out: a case needs every value"):
        require(Cut(only=("*.attn",)).of(right))


def test_what_has_no_formula_cannot_be_checked(right: Trace) -> None:
    with pytest.raises(hand.InputError, match=r"has no formula"):
        require(Cut(positions=(0,)).of(right))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_no_number_cannot_be_checked(number: float, right: Trace) -> None:
    arrays: dict[str, Any] = {path: right[path] for path in right}
    arrays["blocks.0.mlp.w_up"] = np.full_like(arrays["blocks.0.mlp.w_up"], number)
    with pytest.raises(hand.InputError, match=r"blocks.0.mlp.w_up holds NaN or infinity"):
        require(Trace(right.manifest, arrays))
