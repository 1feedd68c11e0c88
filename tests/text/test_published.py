"""Files of other makers: kinds of vocabulary that this package reads but doesn't make."""

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers

from handformer.errors import InputError
from handformer.text import StreamDecoder, Tokenizer


def word_pieces():
    """BERT's kind: lower case, "##" inside words, texts cut and padded by the file's own wish."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "##ting"]
    words += [*".,'[]", "mask"]
    library = tokenizers.Tokenizer(
        models.WordPiece({word: id for id, word in enumerate(words)}, unk_token="[UNK]")
    )
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(words[:5])
    library.enable_truncation(3)
    library.enable_padding(length=16)
    return library


def byte_fallback():
    """Llama's first kind: "▁" for a space, bytes as `<0x..>` for what has no entry."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += ["▁", "a", "b", "c", "ab", "▁ab", "�", ""]
    library = tokenizers.Tokenizer(
        models.BPE(
            {token: id for id, token in enumerate(tokens)},
            [("a", "b"), ("▁", "ab")],
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    library.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    library.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    library.add_special_tokens(tokens[:3])
    return library


def unigram():
    """T5's kind, whose best cut of "</s>" is the special token itself."""
    library = tokenizers.Tokenizer(
        models.Unigram(
            [("<unk>", 0.0), ("</s>", -1.0), ("▁", -2.0), ("a", -3.0), ("<", -9.0)], unk_id=0
        )
    )
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.decoder = decoders.Metaspace()
    library.add_special_tokens(["<unk>", "</s>"])
    return library


def load(library, tmp_path):
    library.save(str(tmp_path / "tokenizer.json"))
    return Tokenizer.load(tmp_path)


def test_texts_are_neither_cut_nor_padded(tmp_path):
    tokenizer = load(word_pieces(), tmp_path)
    assert tokenizer.kind == "wordpiece"
    ids = tokenizer.encode("The cats sat. THE CAT")
    assert [tokenizer.token(id) for id in ids] == ["the", "cat", "##s", "sat", ".", "the", "cat"]
    assert tokenizer.decode([tokenizer.id("[CLS]"), *ids]) == "the cats sat. the cat"
    assert tokenizer.spelling(int(ids[0])) is None
    assert tokenizer.id("##ting") == 9


def test_typed_special_tokens_are_text(tmp_path):
    tokenizer = load(word_pieces(), tmp_path)
    assert [tokenizer.token(id) for id in tokenizer.encode("[MASK]")] == ["[", "mask", "]"]
    tokenizer = load(unigram(), tmp_path)
    assert tokenizer.encode("a é").tolist() == [2, 3, 2, 0]  # the entry for the unknown is fine
    with pytest.raises(InputError, match="special token '</s>'"):
        tokenizer.encode("a</s>")


def nested_byte_level():
    """Bytes again, but with the decoder inside a sequence, as some conversions leave it."""
    library = Tokenizer.bytes()._library
    library.decoder = decoders.Sequence([decoders.ByteLevel()])
    return library


@pytest.mark.parametrize("make", [word_pieces, byte_fallback, unigram, nested_byte_level])
def test_a_stream_gives_the_same_text(make):
    tokenizer = Tokenizer(make())

    @given(st.lists(st.integers(0, tokenizer.vocab_size - 1)))
    def check(ids):
        decoder = StreamDecoder(tokenizer)
        pushed = "".join(decoder.push(id) for id in ids)
        assert pushed + decoder.finish() == tokenizer.decode(ids)

    check()


def test_a_stream_of_joined_tokens_comes_at_once():
    tokenizer = Tokenizer(byte_fallback())
    decoder = StreamDecoder(tokenizer)
    ids = tokenizer.encode("ab ab€c ab")
    assert [decoder.push(id) for id in ids] == ["ab", " ab", "", "", "", "€c", " ab"]
    decoder = StreamDecoder(tokenizer)
    empty = tokenizer.vocab_size - 1
    assert [decoder.push(id) for id in [*ids[:1], empty, empty, *ids[:1]]] == ["ab", "", "", " ab"]
    decoder = StreamDecoder(Tokenizer(nested_byte_level()))
    assert [decoder.push(byte) for byte in "a€b".encode()] == ["a", "", "", "€", "b"]
    decoder = StreamDecoder(Tokenizer(word_pieces()))
    assert [decoder.push(id) for id in (2, 5, 6, 8, 10)] == ["", "the", " cat", "s", "."]


def incomplete(by_bytes):
    library = tokenizers.Tokenizer(models.BPE({"a": 0, "b": 1, "Ġ": 2, " ": 3}, []))
    if by_bytes:
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
    return Tokenizer(library)


@pytest.mark.parametrize("by_bytes", [False, True])
def test_nothing_is_dropped_without_a_word(by_bytes):
    tokenizer = incomplete(by_bytes)
    assert len(tokenizer.encode("ab ba")) == 5
    with pytest.raises(InputError, match=r"ca.*can't be encoded whole"):
        tokenizer.encode("ab ca")


def test_an_unknown_word_without_an_entry_for_it():
    tokenizer = Tokenizer(tokenizers.Tokenizer(models.WordLevel({"a": 0}, unk_token="?")))
    assert tokenizer.encode("a").tolist() == [0]
    with pytest.raises(InputError, match="can't be encoded"):
        tokenizer.encode("b")
