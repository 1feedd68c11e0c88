import pytest
from hypothesis import given
from hypothesis import strategies as st

from handformer.text import StreamDecoder, Tokenizer

BYTES = Tokenizer.bytes(special=("[EOS]",))
BPE = Tokenizer.bpe("héé 漢字 漢字 😀😀 " * 30, vocab_size=280, special=("[EOS]",))
CHARACTERS = Tokenizer.characters("aé漢😀\u0301", special=("[EOS]",))

# Bytes that begin, continue and break characters are rare among random ones.
byte_ids = st.lists(
    st.one_of(
        st.integers(0, 256),
        st.sampled_from([0x41, 0x80, 0xBF, 0xC3, 0xE2, 0xED, 0xA0, 0xF0, 0x9F, 0xF4, 0x90]),
    )
)


@given(byte_ids)
def test_all_that_comes_out_is_the_decoded_text(ids):
    decoder = StreamDecoder(BYTES)
    assert "".join(decoder.push(id) for id in ids) + decoder.finish() == BYTES.decode(ids)


@pytest.mark.parametrize("tokenizer", [BPE, CHARACTERS], ids=repr)
def test_other_kinds_too(tokenizer):
    @given(st.lists(st.integers(0, tokenizer.vocab_size - 1)))
    def check(ids):
        decoder = StreamDecoder(tokenizer)
        pushed = "".join(decoder.push(id) for id in ids)
        assert pushed + decoder.finish() == tokenizer.decode(ids)

    check()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_a_character_comes_with_its_last_byte_and_not_before(text):
    decoder = StreamDecoder(BYTES)
    for character in text:
        *first, last = character.encode()
        assert [decoder.push(byte) for byte in first] == [""] * len(first)
        assert decoder.push(last) == character
    assert decoder.finish() == ""


@pytest.mark.parametrize(
    ("data", "pushed", "rest"),
    [
        (b"\xe2\x82", ["", ""], "\ufffd"),  # could still become a euro sign
        (b"\xe2A", ["", "\ufffdA"], ""),  # can't any more
        (b"\xff", ["\ufffd"], ""),  # never could
        (b"\xf0\x9f\x98\xf0\x9f\x98\x80", ["", "", "", "\ufffd", "", "", "😀"], ""),
        (b"\xed\xa0A", ["", "", "\ufffd\ufffdA"], ""),  # a surrogate, which UTF-8 doesn't have
    ],
)
def test_when_broken_bytes_come_out(data, pushed, rest):
    decoder = StreamDecoder(BYTES)
    assert [decoder.push(byte) for byte in data] == pushed
    assert decoder.finish() == rest


def test_special_tokens_are_silent():
    decoder = StreamDecoder(BYTES)
    end = BYTES.id("[EOS]")
    assert [decoder.push(id) for id in (0xC3, end, 0xA9, end)] == ["", "", "é", ""]
