"""Filling gaps: what an encoder's logits say at the mask tokens."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.errors import InputError
from handformer.generate import fill
from handformer.models import Encoder
from tests.generate.loud import loud

GAP = 2
TEXT = [5, GAP, 7, GAP, 5]


def encoder() -> Encoder:
    made = loud("bert")
    assert isinstance(made, Encoder)
    return made


def test_gaps_get_the_most_probable_token() -> None:
    filled = fill(encoder(), TEXT, mask_token=GAP)
    logits, _ = encoder().forward(np.array([TEXT]))
    others = np.delete(logits[0], GAP, axis=-1)
    probs = np.exp(others) / np.exp(others).sum(axis=-1, keepdims=True)
    assert_array_equal(filled.places, [1, 3])
    assert_allclose(np.delete(filled.probs, GAP, axis=-1), probs[[1, 3]], rtol=1e-12)
    assert (filled.probs[:, GAP] == 0).all()
    assert_array_equal(filled.tokens[[1, 3]], filled.probs.argmax(axis=-1))
    assert_array_equal(filled.tokens[[0, 2, 4]], [5, 7, 5])


def test_padding_entries_fill_nothing() -> None:
    assert fill(encoder(), TEXT, mask_token=GAP, vocab_size=4).probs.shape == (2, 4)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ([1, 3], "no gap in a text of 2 tokens"),
        ([], "text 0 has no tokens"),
        ([GAP] * 7, "the text has 7 tokens: expected at most 6"),
    ],
)
def test_a_text_that_cannot_be_filled_is_named(text: list[int], named: str) -> None:
    with pytest.raises(InputError, match=named):
        fill(encoder(), text, mask_token=GAP)
