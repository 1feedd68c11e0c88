"""Shapes that don't fit get what the plain op gives: an error, or a broadcast; no other memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer import fast, ops

RNG = np.random.default_rng(0)
X, ROW, SHORT = RNG.standard_normal((4, 64)), RNG.standard_normal((1, 64)), RNG.standard_normal(8)
GAMMA, TARGETS = RNG.standard_normal(64), np.array([1, 2])

CALLS: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda ns: ns.layer_norm.forward(X, SHORT, None, 1e-5),
    "layer_norm beta": lambda ns: ns.layer_norm.forward(X, GAMMA, SHORT, 1e-5),
    "layer_norm backward": lambda ns: ns.layer_norm.backward(X, SHORT, None, X[:, 0], X),
    "rms_norm": lambda ns: ns.rms_norm.forward(X, SHORT, 1e-5),
    "rms_norm backward": lambda ns: ns.rms_norm.backward(X, GAMMA, X[:, 0], X[:, :8]),
    "relu backward": lambda ns: ns.relu.backward(ROW, X),
    "gelu_tanh backward": lambda ns: ns.gelu_tanh.backward(ROW, X),
    "silu backward": lambda ns: ns.silu.backward(ROW, X),
    "swiglu": lambda ns: ns.swiglu.forward(X, X[:1, :8]),
    "swiglu backward": lambda ns: ns.swiglu.backward(ROW, X, X, X),
    "softmax backward": lambda ns: ns.softmax.backward(ROW, X),
    "cross_entropy": lambda ns: ns.cross_entropy.forward(X, TARGETS, 0.0),
    "cross_entropy backward": lambda ns: ns.cross_entropy.backward(1.0, X, TARGETS, 2, 0.0),
    "embedding backward": lambda ns: ns.embedding.backward(X, np.array([1, 2]), X, 1.0),
    "embedding outside": lambda ns: ns.embedding.backward(X, np.array([1, 2, 3, 9]), X, 1.0),
}


def outcome(call: Callable[[Any], Any], namespace: Any) -> Any:
    try:
        result = call(namespace)
    except Exception as error:
        return type(error)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", CALLS)
def test_the_outcome_is_that_of_plain(name: str) -> None:
    right, found = outcome(CALLS[name], ops), outcome(CALLS[name], fast)
    if isinstance(right, type):
        assert found is right
    else:
        for one, other in zip(found, right, strict=True):
            assert_array_equal(one, other)
