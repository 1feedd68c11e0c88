"""Generation: with a cache as without one, in pieces as in one, in a batch as one by one."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer.errors import InputError
from handformer.generate import Sampling, Step, generate, written
from handformer.generate.kv_cache import CausalModel
from handformer.models import Decoder
from tests.generate.loud import CONTEXT, VOCAB, loud

# Unequal lengths: one token, less than the context, exactly the context, more than it.
PROMPTS = [[4], [1, 2, 3, 2], [5, 0, 5, 9, 3, 7], [8, 8, 1, 2, 9, 10, 6, 4]]
HOW = Sampling(temperature=0.9, top_k=9, top_p=0.95, min_p=0.001, repetition_penalty=1.2)
LONG = 3 * CONTEXT


@cache
def decoder(family: str) -> Decoder:
    model = loud(family)
    assert isinstance(model, Decoder)
    return model


def steps(
    prompts: Sequence[Sequence[int]], *, family: str = "gpt2", model: Any = None, **settings: Any
) -> list[Step]:
    settings = {"max_tokens": LONG, "sampling": HOW, "seed": 7, **settings}
    return list(generate(model or decoder(family), prompts, **settings))


def assert_same(found: list[Step], right: list[Step]) -> None:
    assert len(found) == len(right)
    for one, other in zip(found, right, strict=True):
        assert_array_equal(one.rows, other.rows)
        assert_array_equal(one.tokens, other.tokens)
        assert_allclose(one.logits, other.logits, rtol=1e-12, atol=1e-12)
        assert_allclose(one.probs, other.probs, rtol=1e-11, atol=1e-12)


def row_of(batch: list[Step], row: int) -> list[Step]:
    """The steps of one row of a batch, as if it had been alone."""
    mine = [(step, step.rows == row) for step in batch if row in step.rows]
    return [
        Step(np.array([0]), at.tokens[own], at.logits[own], at.probs[own], at.stopped[own])
        for at, own in mine
    ]


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("prompt", PROMPTS, ids=len)
def test_the_cache_changes_nothing_at_any_step(family: str, prompt: list[int]) -> None:
    found = steps([prompt], family=family)
    assert len(found) == LONG  # far enough for the window to turn several times
    assert_same(found, steps([prompt], family=family, cached=False))


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_reading_in_pieces_changes_nothing(family: str, chunk: int) -> None:
    assert_same(steps(PROMPTS, family=family, chunk=chunk), steps(PROMPTS, family=family))


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("cached", [True, False])
def test_a_batch_of_unequal_prompts_is_each_of_them_alone(family: str, cached: bool) -> None:
    batch = steps(PROMPTS, family=family, cached=cached, stop_tokens=[3])
    lengths = [sum(row in step.rows for step in batch) for row in range(len(PROMPTS))]
    assert len(set(lengths)) > 2, "rows are to finish at different steps"
    for row, prompt in enumerate(PROMPTS):
        alone = steps([prompt], family=family, cached=cached, stop_tokens=[3])
        assert_same(row_of(batch, row), alone)


def test_the_model_sees_the_window_and_nothing_else() -> None:
    model, prompt = decoder("gpt2"), PROMPTS[3]
    text = list(prompt)
    starts = [2, 5, 5, 5, 8, 8, 8, 11, 11]  # context 6: a full window forgets three
    for step, start in zip(steps([prompt], max_tokens=9), starts, strict=True):
        logits, _ = model.forward(np.array([text[start:]]))
        assert_allclose(step.logits, logits[:, -1], rtol=1e-12, atol=1e-12)
        text.append(int(step.tokens[0]))


class Counted:
    """A model that notes what it is given to read."""

    def __init__(self, model: Decoder) -> None:
        self.config, self.forward, self.widths = (
            model.config,
            model.forward,
            list[tuple[int, int]](),
        )
        self.model = model

    def extend(self, tokens: Any, past: Any, *, valid: Any = None, ops: Any) -> Any:
        self.widths.append(tokens.shape)
        logits, past = self.model.extend(tokens, past, valid=valid, ops=ops)
        assert past.length <= CONTEXT
        return logits, past


def test_a_step_reads_one_token_unless_the_window_turns() -> None:
    model = Counted(decoder("llama"))
    steps([PROMPTS[1]], model=model, max_tokens=9)
    assert model.widths == [(1, w) for w in (4, 1, 1, 4, 1, 1, 4, 1, 1)]


def test_a_row_is_read_again_only_when_its_own_window_turns() -> None:
    model = Counted(decoder("llama"))
    steps([[4, 1], [5, 0, 5, 9]], model=model, max_tokens=7)
    side_by_side = [(2, 4), (2, 1), (2, 1)]
    parted = [(1, 4), (1, 5)]  # the longer row has turned; the other one leaves the common past
    apart = [[(1, 1), (1, 1)], [(1, 1), (1, 4)], [(1, 1), (1, 4)]]
    assert model.widths == [*side_by_side, *parted, *(width for both in apart for width in both)]


def test_rows_that_have_finished_are_read_no_more() -> None:
    model = Counted(decoder("gpt2"))

    def until(row: int) -> Callable[[int, int], bool]:
        left = {row: row + 1 for row in range(3)}  # row 0 writes one token, row 1 two, row 2 three

        def ends(this: int, token: int) -> bool:
            left[row + this] -= 1
            return not left[row + this]

        return ends

    found = steps([[1], [2], [3]], model=model, ends=until(0))
    assert [step.rows.tolist() for step in found] == [[0, 1, 2], [1, 2], [2]]
    assert [rows for rows, _ in model.widths] == [3, 2, 1]
    for row in range(3):
        assert_same(row_of(found, row), steps([[row + 1]], ends=until(row)))


def test_a_row_ends_with_its_stop_token() -> None:
    found = steps(PROMPTS, stop_tokens=[3, 4], max_tokens=40)
    for row in range(len(PROMPTS)):
        mine = [
            (int(step.tokens[place]), bool(step.stopped[place]))
            for step in found
            for place in np.flatnonzero(step.rows == row)
        ]
        assert [stopped for _, stopped in mine] == [token in {3, 4} for token, _ in mine]
        assert [stopped for _, stopped in mine].index(True) == len(mine) - 1
    assert not any({3, 4} & {*text} for text in written(found, len(PROMPTS)))


def test_the_seed_decides() -> None:
    first, again, other = (written(steps(PROMPTS, seed=seed), 4) for seed in (1, 1, 2))
    assert first == again != other


def test_copies_of_a_prompt_go_on_differently_and_the_first_as_if_alone() -> None:
    copies = written(steps([PROMPTS[0], PROMPTS[1], PROMPTS[0]]), 3)
    assert copies[0] == written(steps([PROMPTS[0]]), 1)[0] != copies[2]


def test_greedy_is_the_largest_logit_whatever_the_seed() -> None:
    greedy = Sampling(temperature=0)
    found = steps(PROMPTS, sampling=greedy, seed=1)
    for step in found:
        assert_array_equal(step.tokens, step.logits.argmax(axis=-1))
    assert_same(found, steps(PROMPTS, sampling=greedy, seed=2))


def test_the_penalty_knows_what_the_window_has_forgotten() -> None:
    text = [4]
    for step in steps([text], sampling=Sampling(repetition_penalty=2)):
        met = np.isin(np.arange(VOCAB), text)
        penalised = np.where(
            met, np.where(step.logits > 0, step.logits / 2, step.logits * 2), step.logits
        )
        right = np.exp(penalised) / np.exp(penalised).sum()
        assert_allclose(step.probs, right, rtol=1e-12)
        text.append(int(step.tokens[0]))
    assert len(text) > 2 * CONTEXT


def test_entries_of_padding_are_never_drawn() -> None:
    found = steps(PROMPTS, vocab_size=9, sampling=Sampling(temperature=5))
    assert max(int(step.tokens.max()) for step in found) == 8
    assert {step.probs.shape[-1] for step in found} == {9}


def test_float32_stays_float32() -> None:
    from handformer import tree

    model = tree.cast(decoder("llama"), np.float32)
    for step in steps(PROMPTS, model=model, max_tokens=8):
        assert (step.logits.dtype, step.probs.dtype) == (np.float32, np.float32)


def test_nothing_to_do() -> None:
    assert steps(PROMPTS, max_tokens=0) == []
    assert steps([]) == []


def lost(model: Decoder) -> CausalModel:
    from handformer import tree

    return tree.transform(model, lambda _, array: np.where(array > 1, np.nan, array))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"prompts": [[1], []]}, "prompt 1 has no tokens: expected at least one"),
        ({"prompts": [[1, VOCAB]]}, f"prompt 0 holds the token {VOCAB}: expected 0 to {VOCAB - 1}"),
        ({"prompts": [[-1]]}, "prompt 0 holds the token -1: "),
        ({"max_tokens": -1}, "max_tokens -1: expected a whole number from 0 on"),
        ({"chunk": 0}, "chunk 0: expected a whole number from 1 on"),
    ],
)
def test_what_cannot_be_generated_is_named_at_once(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        generate(decoder("gpt2"), **{"prompts": [[1]], "max_tokens": 1, **wrong})
    assert "\n" not in str(caught.value)


def test_damaged_weights_are_named() -> None:
    made: Callable[[], Any] = lambda: list(generate(lost(decoder("gpt2")), [[1]], max_tokens=1))  # noqa: E731
    with pytest.raises(InputError, match="row 0, token 0: the model's logits aren't finite"):
        made()
