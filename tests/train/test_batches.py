"""Windows of text: shifted once, drawn from seed and step alone, spread evenly for evaluation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from handformer.errors import InputError
from handformer.train.batches import evaluation_windows, windows

TEXT = np.arange(100, dtype=np.uint16) + 7  # each id tells its place


def test_targets_are_the_tokens_one_place_later() -> None:
    tokens, targets = windows(TEXT, context=5, batch=4, seed=1, step=3)
    assert tokens.shape == targets.shape == (4, 5)
    assert tokens.dtype == targets.dtype == np.int64
    assert_array_equal(targets, tokens + 1)
    assert_array_equal(tokens - tokens[:, :1], np.tile(np.arange(5), (4, 1)))


def test_every_window_that_fits_is_drawn_and_no_other() -> None:
    ids = TEXT[:9]
    drawn = [windows(ids, context=5, batch=8, seed=0, step=step)[0][:, 0] for step in range(20)]
    assert set(np.concatenate(drawn)) == set(ids[:4])
    only, after = windows(TEXT[:6], context=5, batch=1, seed=0, step=0)
    assert_array_equal(only[0], TEXT[:5])
    assert_array_equal(after[0], TEXT[1:6])


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**33))
def test_a_step_can_be_drawn_alone_and_cut_into_micro_batches(
    batch: int, micros: int, step: int
) -> None:
    whole, _ = windows(TEXT, context=5, batch=batch * micros, seed=4, step=step)
    parts = [
        windows(TEXT, context=5, batch=batch, seed=4, step=step, micro=micro)[0]
        for micro in reversed(range(micros))
    ]
    assert_array_equal(np.concatenate(parts[::-1]), whole)


def test_other_steps_and_seeds_draw_other_windows() -> None:
    draws = {
        windows(TEXT, context=5, batch=8, seed=seed, step=step)[0].tobytes()
        for seed in range(3)
        for step in range(3)
    }
    assert len(draws) == 9


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 40), st.integers(13, 100))
def test_evaluation_windows_are_even_apart_and_the_same_every_time(
    context: int, batch: int, count: int, length: int
) -> None:
    ids = TEXT[:length]
    batches = list(evaluation_windows(ids, context=context, batch=batch, count=count))
    again = evaluation_windows(ids, context=context, batch=batch, count=count)
    for (tokens, targets), (same, _) in zip(batches, again, strict=True):
        assert_array_equal(tokens, same)
        assert_array_equal(targets, tokens + 1)
        assert tokens.shape[0] <= batch
    starts = np.concatenate([tokens[:, 0] for tokens, _ in batches])
    assert len(starts) == min(count, (length - 1) // context)
    assert starts[0] == ids[0]
    if len(starts) > 1:
        gaps = np.diff(starts)
        assert gaps.min() >= context
        assert np.ptp(gaps) <= 1
        assert starts[-1] == ids[-1] - context


def test_a_text_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(InputError, match=r"the text has 5 tokens, and a window needs 6 "):
        windows(TEXT[:5], context=5, batch=1, seed=0, step=0)
    with pytest.raises(InputError, match="the text has 0 tokens"):
        next(evaluation_windows(TEXT[:0], context=5, batch=1, count=1))
