"""Masked tokens: how many, which, what they become, and draws that can be made again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from handformer.axes import IntArray
from handformer.errors import InputError
from handformer.train.masked import mask

MASK, PAD, VOCAB = 1, 0, 50


def text(batch: int, length: int) -> IntArray:
    return np.random.default_rng(0).integers(2, VOCAB, size=(batch, length))


def test_fifteen_of_a_hundred_are_chosen_and_share_eighty_ten_ten() -> None:
    tokens = text(200, 100)
    inputs, targets = mask(tokens, mask_id=MASK, vocab_size=VOCAB, seed=1, step=2)
    chosen = targets != -100
    assert_array_equal(chosen.sum(axis=1), 15)
    assert_array_equal(targets[chosen], tokens[chosen])
    assert_array_equal(inputs[~chosen], tokens[~chosen])
    # 3000 chosen: a part's standard deviation is below 0.008.
    hidden = inputs[chosen] == MASK
    kept = inputs[chosen] == tokens[chosen]
    assert abs(hidden.mean() - 0.8) < 0.03
    assert abs(kept.mean() - 0.1 - 0.1 / 48) < 0.03
    assert abs((~hidden & ~kept).mean() - 0.1 + 0.1 / 48) < 0.03
    assert len(set(inputs[chosen][~hidden & ~kept])) > 40  # of 48 ordinary ids
    # Every place of a sequence is chosen equally often: 30 of 200 times.
    assert abs(chosen.sum(axis=0) - 30).max() < 25


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 5), st.data())
def test_padding_and_special_tokens_stay_out(
    batch: int, length: int, step: int, data: st.DataObject
) -> None:
    tokens = text(batch, length)
    lengths = np.array([data.draw(st.integers(0, length)) for _ in range(batch)])
    valid = np.arange(length) < lengths[:, None]
    tokens[~valid] = PAD
    tokens[:, 0] = 2  # a special token of another kind
    free = valid & (tokens != 2)
    tokens.flags.writeable = False

    def masked() -> tuple[IntArray, IntArray]:
        return mask(
            tokens, mask_id=MASK, vocab_size=VOCAB, seed=3, step=step, valid=valid, special=[2]
        )

    if not free.any():
        with pytest.raises(InputError, match="no token that could be masked"):
            masked()
        return
    inputs, targets = masked()
    chosen = targets != -100
    assert not (chosen & ~free).any()
    assert_array_equal(chosen.any(axis=1), free.any(axis=1))
    assert not (inputs[chosen] == 2).any()


def test_a_random_token_is_never_a_special_one() -> None:
    tokens = np.where(text(20, 100) % 2, 48, 49)
    inputs, _ = mask(
        tokens, mask_id=MASK, vocab_size=VOCAB, seed=0, step=0, special=[0, *range(2, 48)]
    )
    assert set(inputs[inputs != tokens]) == {MASK, 48, 49}


def test_draws_follow_from_seed_step_and_place_alone_in_any_cut() -> None:
    tokens = text(6, 20)

    def inputs(part: IntArray, **where: int | str) -> IntArray:
        settings = {"seed": 0, "step": 0, **where}
        return mask(part, mask_id=MASK, vocab_size=VOCAB, **settings)[0]  # type: ignore[arg-type]

    whole = inputs(tokens)
    parts = [inputs(tokens[3 * micro : 3 * micro + 3], micro=micro) for micro in (0, 1)]
    assert_array_equal(np.concatenate(parts), whole)
    others = [inputs(tokens, seed=1), inputs(tokens, step=1), inputs(tokens, place="evaluation")]
    assert len({whole.tobytes(), *(other.tobytes() for other in others)}) == 4


def test_a_vocabulary_of_special_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="special ids only"):
        mask(np.array([[5]]), mask_id=1, vocab_size=2, seed=0, step=0, special=[0])
