"""Embedding: rows taken out of a table, gradients of repeated tokens added up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.errors import InputError
from handformer.ops import embedding
from handformer.selfcheck.ops import Case
from tests.ops.mistakes import difference


@pytest.mark.smoke
def test_by_hand() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    tokens = np.array([2, 0, 2])
    assert_array_equal(embedding.forward(tokens, table, 10.0), [[50, 60], [10, 20], [50, 60]])
    d_y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    d_table = embedding.backward(d_y, tokens, table, 10.0)
    assert_array_equal(d_table, [[30, 40], [0, 0], [60, 90]])  # token 2: (1 + 5, 2 + 7) times 10


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_a_gradient_is_that_of_a_product_with_one_hot_rows(dtype: type) -> None:
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 9, (2, 3, 7)).astype(dtype)  # each about five times, row 9 never
    d_y = rng.normal(size=(2, 3, 7, 4)).astype(np.float32)
    table = rng.normal(size=(10, 4)).astype(np.float32)
    one_hot = np.eye(10)[tokens.astype(int)]
    d_table = embedding.backward(d_y, tokens, table, 1.0)
    assert d_table.dtype == np.float32
    assert_allclose(d_table, np.einsum("abtn,abti->ni", one_hot, d_y), atol=2e-6)
    assert not d_table[9].any()
    assert_array_equal(d_table, embedding.backward(d_y, tokens, table, 1.0))


def test_no_tokens_give_no_rows_and_no_gradient() -> None:
    tokens, table = np.zeros((2, 0), int), np.ones((3, 4))
    assert embedding.forward(tokens, table, 1.0).shape == (2, 0, 4)
    assert not embedding.backward(np.ones((2, 0, 4)), tokens, table, 1.0).any()


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_token_without_a_row_is_named(wrong: int) -> None:
    with pytest.raises(InputError, match=f"token {wrong} has no row in a table of 3: .*0 to 2"):
        embedding.forward(np.array([[0, wrong]]), np.ones((3, 4)), 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        "y[b,i] = table[tokens[b],i]",
        "y[b,i] = table[tokens[b],i] / scale",
        "y[b,i] = scale * table[(tokens[b] + 1) % 7,i]",
        "d_table[n,i] = sum(b, where(tokens[b] == n, d_y[b,i], 0))",
        "d_table[n,i] = scale * max(b, where(tokens[b] == n, d_y[b,i], 0))",
    ],
)
def test_known_mistakes_are_seen(wrong: str) -> None:
    tokens = np.array([[1, 3, 1, 1], [3, 3, 2, 0]])
    table = np.random.default_rng(1).normal(size=(7, 5))
    case = Case(embedding, {"tokens": tokens, "table": table}, {"scale": 5**0.5, "vocab_size": 7})
    assert difference(case, wrong) > 0.1
