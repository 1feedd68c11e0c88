"""Sequence pairs: strict reading, a split without leaks, batches with padding."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from handformer.axes import IntArray
from handformer.errors import InputError
from handformer.train import pairs
from handformer.train.pairs import Example, Pair

PAD, BOS, EOS = 0, 1, 2


def letters(text: str) -> IntArray:
    if "?" in text:
        raise InputError("the character '?' is not in the vocabulary")
    return np.array(
        [ord(letter) - ord("a") + 3 for letter in text if letter != " "], dtype=np.int64
    )


def example(source: str, target: str) -> Example:
    return Example(letters(source), letters(target))


def test_a_batch_by_hand() -> None:
    batch = pairs.collate([example("ab", "c"), example("a", "bcd")], pad=PAD, bos=BOS, eos=EOS)
    assert_array_equal(batch.source, [[3, 4], [3, PAD]])
    assert_array_equal(batch.source_valid, [[True, True], [True, False]])
    assert_array_equal(batch.target_in, [[BOS, 5, PAD, PAD], [BOS, 4, 5, 6]])
    assert_array_equal(batch.targets, [[5, EOS, -100, -100], [4, 5, 6, EOS]])
    assert_array_equal(batch.target_valid, [[True, True, False, False], [True] * 4])
    assert batch.source.dtype == batch.target_in.dtype == batch.targets.dtype == np.int64


def test_reading_keeps_the_text_and_the_place(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes("\ufeffça va\t ok \r\na\u2028b\tc".encode())
    assert pairs.read(file) == [
        Pair(f"{file}, line 1", "ça va", " ok "),
        Pair(f"{file}, line 2", "a\u2028b", "c"),
    ]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", ": the file is empty"),
        (b"\n", ": the file is empty"),
        (b"a\tb\nab\n", ", line 2: no tab in 'ab'"),
        (b"a\tb\n\nc\td\n", ", line 2: no tab in ''"),
        (b"a\tb\tc\n", ", line 1: 2 tabs in 'a\\tb\\tc'"),
        (b"a\tb\n \tb\n", ", line 2: the source is empty"),
        (b"a\t\n", ", line 1: the target is empty"),
        (b"a\tb\nab\xff\tc\n", ", line 2, byte 3: 0xff isn't UTF-8"),
        (b"a\tb\xc3", ", line 1, byte 4: 0xc3 isn't UTF-8"),
    ],
)
def test_what_is_no_pair_is_named_with_its_place(data: bytes, says: str, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_bytes(data)
    with pytest.raises(InputError) as error:
        pairs.read(file)
    assert str(error.value).startswith(f"{file}{says}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.tsv: can't read the pairs: No such file"):
        pairs.read(tmp_path / "missing.tsv")
    with pytest.raises(InputError, match="can't read the pairs: Is a directory"):
        pairs.read(tmp_path)


@given(st.lists(st.sampled_from("abcdefg"), min_size=1), st.floats(0, 1), st.integers(0, 9))
def test_the_split_keeps_every_pair_and_puts_no_source_on_both_sides(
    sources: list[str], part: float, seed: int
) -> None:
    all_pairs = [Pair(f"line {n}", source, "x") for n, source in enumerate(sources)]
    if len(set(sources)) < 2:
        with pytest.raises(InputError, match="line 0: only one source"):
            pairs.split(all_pairs, validation=part, seed=seed)
        return
    train, held = pairs.split(all_pairs, validation=part, seed=seed)
    assert train
    assert held
    assert Counter(train + held) == Counter(all_pairs)
    assert not {pair.source for pair in train} & {pair.source for pair in held}
    wanted = part * len(set(sources))
    assert abs(len({pair.source for pair in held}) - wanted) <= 1
    assert (train, held) == pairs.split(all_pairs, validation=part, seed=seed)


def test_pairs_beyond_the_context_are_left_out_and_counted() -> None:
    texts = [("abcd", "abc"), ("abcde", "a"), ("a", "abcd"), ("a", "b")]
    some = [Pair(f"f, line {n}", *sides) for n, sides in enumerate(texts, start=1)]
    kept, skipped = pairs.encode(some, letters, context=4)
    assert skipped == 2
    assert_array_equal(kept[0].source, [3, 4, 5, 6])
    assert_array_equal(kept[0].target, [3, 4, 5])
    assert_array_equal(kept[1].target, [4])
    batch = pairs.collate(kept, pad=PAD, bos=BOS, eos=EOS)
    assert batch.source.shape[1] == batch.target_in.shape[1] == 4
    with pytest.raises(InputError, match=r"^f, line 2: neither this pair nor any other fits"):
        pairs.encode(some[1:3], letters, context=4)


def test_a_text_that_cannot_be_encoded_is_named_with_its_place() -> None:
    with pytest.raises(InputError, match=r"^f, line 3: the character '\?' is not in"):
        pairs.encode([Pair("f, line 3", "a", "b?")], letters, context=4)
    with pytest.raises(InputError, match=r"^f, line 4: the target has no tokens"):
        pairs.encode([Pair("f, line 4", "a", " ")], letters, context=4)


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 3))
def test_every_example_is_seen_once_a_round_in_any_cut(batch: int, micros: int, seed: int) -> None:
    examples = [example(letter, letter) for letter in "abcdefg"]

    def drawn(batch: int, micros: int) -> list[int]:
        return [
            int(one.source[0])
            for step in range(42 // (batch * micros) + 1)
            for micro in range(micros)
            for one in pairs.training_examples(
                examples, batch=batch, seed=seed, step=step, micro=micro, micros=micros
            )
        ]

    order = drawn(batch, micros)
    assert order == drawn(batch * micros, 1)
    rounds = [order[first : first + 7] for first in range(0, 42, 7)]
    assert all(sorted(one) == list(range(3, 10)) for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1


def test_evaluation_examples_are_spread_and_the_same_every_time() -> None:
    examples = [example(letter, letter) for letter in "abcdefg"]
    batches = list(pairs.evaluation_examples(examples, batch=2, count=3))
    assert [[int(one.source[0]) - 3 for one in batch] for batch in batches] == [[0, 2], [4]]
    every = pairs.evaluation_examples(examples, batch=4, count=99)
    assert [len(batch) for batch in every] == [4, 3]
