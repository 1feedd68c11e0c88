"""What goes through a model: inputs, targets, spellings; and what is refused."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import handformer as hand
from handformer.errors import InputError
from tests.tracing.small import model


def writer(family: str) -> hand.TextModel:
    special = ("[PAD]", "[BOS]", "[EOS]", "[MASK]")
    tokenizer = hand.Tokenizer.characters("abc de", special=special)
    made = model(family, vocab_size=tokenizer.vocab_size)
    return hand.TextModel(made, tokenizer)


def test_each_tokens_target_is_the_next_one() -> None:
    trace = hand.trace(model("gpt2"), tokens=[5, 3, 8])
    assert_array_equal(trace["tokens"], [[5, 3, 8]])
    assert_array_equal(trace["loss.targets"], [[3, 8, -100]])
    assert trace["loss.count"] == 2


def test_rows_of_unequal_length_are_padded() -> None:
    trace = hand.trace(model("gpt2"), tokens=[[5, 3, 8], [1]])
    assert_array_equal(trace["valid"], [[1, 1, 1], [1, 0, 0]])
    assert_array_equal(trace["loss.targets"], [[3, 8, -100], [-100] * 3])
    alone = hand.trace(model("gpt2"), tokens=[5, 3, 8])
    np.testing.assert_allclose(trace["head.out"][0], alone["head.out"][0], atol=1e-6)


def test_targets_may_be_given() -> None:
    trace = hand.trace(model("gpt2"), tokens=[5, 3], targets=[1, -100])
    assert_array_equal(trace["loss.targets"], [[1, -100]])
    text = hand.trace(writer("gpt2"), "ab", targets="cd")
    assert text.manifest.text is not None
    assert text.manifest.text.targets == [["c", "d"]]


def test_an_encoders_targets_are_its_own_tokens_where_none_is_masked() -> None:
    made = writer("bert")
    trace = hand.trace(made, "a[MASK]c")
    a, c = made.tokenizer.id("a"), made.tokenizer.id("c")
    assert_array_equal(trace["tokens"], [[a, made.tokenizer.id("[MASK]"), c]])
    assert_array_equal(trace["loss.targets"], [[a, -100, c]])
    aimed = hand.trace(made, "a[MASK]c", targets="abc")
    assert_array_equal(aimed["loss.targets"], [made.tokenizer.encode("abc")])


def test_an_encoder_decoders_targets_are_given_or_its_own() -> None:
    made = writer("transformer")
    begin, end = made.tokenizer.id("[BOS]"), made.tokenizer.id("[EOS]")
    trace = hand.trace(made, "abc", targets="de")
    d, e = made.tokenizer.encode("de")
    assert_array_equal(trace["source"], [made.tokenizer.encode("abc")])
    assert_array_equal(trace["tokens"], [[begin, d, e]])
    assert_array_equal(trace["loss.targets"], [[d, e, end]])
    own = made.tokenizer.encode(made.translate("abc", max_tokens=7))
    assert_array_equal(hand.trace(made, "abc")["tokens"], [[begin, *own]])


@pytest.mark.parametrize(
    ("family", "given", "says"),
    [
        ("gpt2", {}, "give a text, or tokens"),
        ("gpt2", {"text": "a", "tokens": [1]}, "and not both"),
        ("gpt2", {"tokens": []}, "no tokens"),
        ("gpt2", {"tokens": [[1], []]}, "no tokens"),
        ("gpt2", {"text": ""}, "no tokens"),
        ("gpt2", {"tokens": [1] * 9}, "9 tokens in a row: the model's context is 8"),
        ("gpt2", {"tokens": [99]}, "tokens hold 99"),
        ("gpt2", {"tokens": [-1]}, "tokens hold -1"),
        ("gpt2", {"tokens": [1], "targets": [99]}, "targets hold 99"),
        ("gpt2", {"tokens": [1, 2], "targets": [1]}, "2 tokens with 1 targets"),
        ("gpt2", {"text": "ab", "targets": ["a", "b"]}, "2 targets for 1 texts"),
        ("gpt2", {"text": "z"}, "z"),
        ("transformer", {"text": "a", "source": [1]}, "a text is the source itself"),
        ("gpt2", {"tokens": [1], "source": [1]}, "reads no source"),
        ("transformer", {"tokens": [1]}, "reads a source"),
        ("transformer", {"tokens": [1], "source": [[1], [2]]}, "2 sources for 1 rows"),
        ("gpt2", {"tokens": [1], "only": "nothing.*"}, "no value fits 'nothing.*'"),
        ("gpt2", {"tokens": [1], "positions": [1]}, "position 1 isn't one of the 1 tokens"),
    ],
)
def test_what_does_not_fit_is_refused(family: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as error:
        hand.trace(writer(family), **given)
    assert says in str(error.value)


def test_a_bare_model_reads_tokens() -> None:
    with pytest.raises(InputError, match="without a tokenizer reads tokens"):
        hand.trace(model("gpt2"), "text")
    with pytest.raises(InputError, match="a MLP can't be traced"):
        hand.trace(hand.MLP.init(4, 8, np.random.default_rng(0)), tokens=[1])  # type: ignore[arg-type]
