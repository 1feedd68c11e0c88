"""Text from a model: whole characters, no part of a stop string, several as one by one."""

from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models

from handformer.axes import Array, BoolArray, IntArray
from handformer.errors import InputError
from handformer.generate import Sampling, fill, translate, written
from handformer.generate.text import TextModel, Writer
from handformer.models import Decoder, ModelConfig
from handformer.text import Tokenizer
from tests.generate.loud import CONTEXT, loud

BYTES = Tokenizer.bytes(special=["[BOS]", "[EOS]"])
EOS = BYTES.id("[EOS]")
EMOJI = "a 👩🏽‍🚀 é 日本 🙂!"


def saying(*said: int) -> TextModel:
    """A model that says these tokens after a prompt of one token, and can't be asked for more."""

    class Parrot(Decoder):
        def extend(  # type: ignore[override]
            self, tokens: IntArray, past: Any, *, valid: BoolArray | None = None, ops: Any = None
        ) -> tuple[Array, Any]:
            length = tokens.shape[1] + (0 if past is None else past.shape[1])
            logits = np.full((*tokens.shape, self.config.vocab_size), -50.0)
            logits[:, -1, said[length - 1]] = 50
            return logits, np.zeros((len(tokens), length))

    config = ModelConfig(context=1000, vocab_size=BYTES.vocab_size)
    return TextModel(Parrot(*repeat(None, 6), config), BYTES)  # type: ignore[arg-type]


def spelled(text: str) -> list[int]:
    return [int(token) for token in BYTES.encode(text)]


def test_a_stream_holds_whole_characters_only() -> None:
    pieces = list(saying(*spelled(EMOJI), EOS).stream("x"))
    assert "".join(pieces) == EMOJI
    assert pieces == list(EMOJI)  # each one as soon as its last byte is there


def test_a_character_that_is_cut_by_the_limit_is_left_out() -> None:
    model = saying(*spelled("ab🙂"))
    for count in (2, 3, 4, 5):
        assert model.generate("x", max_tokens=count) == "ab"
    assert model.generate("x", max_tokens=6) == "ab🙂"


def test_an_end_token_ends_the_text_and_is_no_part_of_it() -> None:
    assert saying(*spelled("ab"), EOS, *spelled("cd")).generate("x") == "ab"


def test_a_stop_string_over_several_tokens_is_never_shown() -> None:
    model = saying(*spelled("one\nUse: two\nUser: three"))
    pieces = list(model.stream("x", stop=["\nUser:", "three"]))
    assert "".join(pieces) == "one\nUse: two" == model.generate("x", stop="\nUser:")
    shown = ["".join(pieces[:count]) for count in range(len(pieces))]
    assert not any(text.endswith("\n") for text in shown)


def test_what_only_looked_like_a_stop_string_is_shown_at_the_end() -> None:
    assert saying(*spelled("ab\nUs"), EOS).generate("x", stop="\nUser:") == "ab\nUs"


def test_a_stop_string_ends_the_work() -> None:
    assert saying(*spelled("ab.")).generate("x", stop=".") == "ab"


def wordy() -> TextModel:
    """A model that says whatever its large weights make it say, over bytes."""
    model = loud("gpt2", context=9, vocab_size=BYTES.vocab_size + 3)
    return TextModel(model, BYTES)


PROMPTS = ["", "a", "🙂 to be", "a longer text than fits"]


def test_several_prompts_are_each_one_alone() -> None:
    model, how = wordy(), {"max_tokens": 30, "seed": 4, "stop": ["e", "\x00"]}
    together = model.generate(PROMPTS, **how)  # type: ignore[arg-type]
    assert together == [model.generate(prompt, **how) for prompt in PROMPTS]  # type: ignore[arg-type]
    assert together == ["".join(model.stream(prompt, **how)) for prompt in PROMPTS]  # type: ignore[arg-type]
    assert len(set(together)) == len(PROMPTS)


def test_every_setting_reaches_the_sampling() -> None:
    plain = wordy().generate("a", max_tokens=20)
    assert plain == wordy().generate("a", max_tokens=20, seed=0)
    for change in (
        {"temperature": 3.0}, {"top_k": 2}, {"top_p": 0.2}, {"min_p": 0.9}, {"seed": 1},
        {"repetition_penalty": 9.0}, {"max_tokens": 2}, {"stop": plain[2]},
    ):  # fmt: skip
        settings: dict[str, Any] = {"max_tokens": 20, **change}
        assert wordy().generate("a", **settings) != plain
        assert "".join(wordy().stream("a", **settings)) == wordy().generate("a", **settings)


def test_without_a_begin_token_an_empty_prompt_is_an_error() -> None:
    model = TextModel(wordy().model, Tokenizer.bytes())
    with pytest.raises(
        InputError, match=r"no begin token .* give a prompt of at least one character"
    ):
        model.generate("")


def test_errors_come_before_the_first_piece() -> None:
    with pytest.raises(InputError, match="top_p 2"):
        wordy().stream("a", top_p=2)


@settings(deadline=None)
@given(st.text(min_size=1), st.data())
def test_a_writer_shows_the_text_behind_its_prompt(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    writer = Writer(BYTES, spelled(text[:cut]), ())
    pieces = []
    for token in spelled(text[cut:]):
        writer.take(token)
        pieces.append(writer.give())
    assert "".join(chain(pieces, [writer.finish()])) == text[cut:]


def test_a_writer_knows_that_its_text_goes_on() -> None:
    # A vocabulary of words and bytes: the space before a text's first word isn't shown.
    words = ["<unk>", "▁hello", "▁world", *(f"<0x{byte:02X}>" for byte in range(256))]
    library = tokenizers.Tokenizer(
        models.Unigram([(word, -1.0) for word in words], unk_id=0, byte_fallback=True)
    )
    library.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer = Tokenizer(library)
    smile = [words.index(f"<0x{byte:02X}>") for byte in "🙂".encode()]
    for before in ([1], [1, *smile]):
        writer = Writer(tokenizer, before, ())
        for token in [2, *smile]:
            writer.take(token)
        assert writer.finish() == " world🙂"


def test_a_translation_is_text_without_begin_and_end() -> None:
    letters = Tokenizer.characters("abcd", special=["[BOS]", "[EOS]"])
    model = TextModel(loud("transformer", vocab_size=letters.vocab_size), letters)
    sources = ["a", "bcd", "dd", "cab"]
    how: dict[str, Any] = {"temperature": 2.0, "seed": 3}
    found = model.translate(sources, **how)
    assert found == [model.translate(source, **how) for source in sources]
    ids = [letters.encode(source) for source in sources]
    how = {"begin": 4, "end": 5, "sampling": Sampling(2.0), "seed": 3}
    right = written(translate(model.model, ids, **how), 4)  # type: ignore[arg-type]
    assert min(map(len, right)) < CONTEXT, "a translation is to end with its end token"
    assert found == [letters.decode(text) for text in right]
    assert model.translate(sources) == model.translate(sources, seed=9)


def test_gaps_are_filled_in_the_text() -> None:
    letters = Tokenizer.characters("abcd", special=["[MASK]"])
    model = TextModel(loud("bert", vocab_size=letters.vocab_size), letters)
    found = model.fill("a[MASK]b[MASK]")
    right = fill(model.model, [0, 4, 1, 4], mask_token=4)  # type: ignore[arg-type]
    assert found == letters.decode(right.tokens)
    assert (found[0], found[2], len(found)) == ("a", "b", 4)
    with pytest.raises(InputError, match="no gap"):
        model.fill("ab")


def test_a_model_of_another_kind_says_what_it_can_do() -> None:
    with pytest.raises(InputError, match=r"Encoder, expected Decoder: use fill with this one"):
        TextModel(loud("bert"), BYTES).generate("a")
    with pytest.raises(InputError, match=r"Decoder, expected EncoderDecoder: use generate and"):
        TextModel(loud("llama"), BYTES).translate("a")
