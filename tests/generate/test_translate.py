"""An encoder-decoder's writing: equal to reading both sides anew at every step, in batches too."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from handformer.errors import InputError
from handformer.generate import Sampling, Step, translate, written
from handformer.models import EncoderDecoder
from tests.generate.loud import CONTEXT, loud

SOURCES = [[3], [9, 4, 9, 1], [5, 6, 7, 8, 2, 12]]
BEGIN, END = 1, 2


@cache
def model() -> EncoderDecoder:
    made = loud("transformer", source_vocab_size=13)
    assert isinstance(made, EncoderDecoder)
    return made


def steps(sources: list[list[int]], **settings: Any) -> list[Step]:
    settings = {"sampling": Sampling(temperature=1.5), "seed": 2, **settings}
    return list(translate(model(), sources, begin=BEGIN, end=END, **settings))


def test_every_step_is_what_reading_all_anew_gives() -> None:
    texts = [[BEGIN] for _ in SOURCES]
    found = steps(SOURCES)
    assert len({sum(row in step.rows for step in found) for row in range(3)}) > 1
    for step in found:
        for row, token, logits in zip(step.rows, step.tokens, step.logits, strict=True):
            right, _ = model().forward(np.array([SOURCES[row]]), np.array([texts[row]]))
            assert_allclose(logits, right[0, -1], rtol=1e-12, atol=1e-12)
            texts[row].append(int(token))
    assert max(map(len, texts)) == CONTEXT + 1  # the last token is written, and not read


def test_a_batch_is_each_source_alone() -> None:
    together = written(steps(SOURCES), 3)
    assert together == [written(steps([source]), 1)[0] for source in SOURCES]
    assert not any(END in text for text in together)


def test_greedy_unless_asked_otherwise() -> None:
    for step in steps(SOURCES, sampling=None, max_tokens=2):
        assert (step.tokens == step.logits.argmax(axis=-1)).all()
    assert len(steps(SOURCES, sampling=None, max_tokens=2)) <= 2


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ([], "source 0 has no tokens"),
        ([13], "source 0 holds the token 13: expected 0 to 12"),
        ([3] * 7, "source 0 has 7 tokens: expected at most 6"),
    ],
)
def test_a_source_that_cannot_be_read_is_named(source: list[int], named: str) -> None:
    with pytest.raises(InputError, match=named):
        translate(model(), [source], begin=BEGIN, end=END)
