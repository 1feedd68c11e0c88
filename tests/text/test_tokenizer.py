import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from handformer.errors import InputError
from handformer.text import Tokenizer, corpus

AWKWARD = "Ab\r\n\t\0\u0301 é😀👩‍👩‍👧\u2028漢\ufeff\\␣[PAD]"
SPECIAL = ("[PAD]", "[MASK]", "[BOS]", "[EOS]")
SENTENCES = corpus.read().text[:20_000]

BYTES = Tokenizer.bytes(special=SPECIAL)
BPE = Tokenizer.bpe(SENTENCES, vocab_size=300, special=SPECIAL)
CHARACTERS = Tokenizer.characters(AWKWARD, special=SPECIAL)
texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("tokenizer", [BYTES, BPE], ids=repr)
@given(text=texts)
def test_any_text_comes_back(tokenizer, text):
    ids = tokenizer.encode(text)
    assert ids.dtype == np.int64
    assert tokenizer.decode(ids) == text


@given(text=st.text(AWKWARD))
def test_any_text_over_the_characters_comes_back(text):
    ids = CHARACTERS.encode(text)
    assert len(ids) == len(text)
    assert CHARACTERS.decode(ids) == text


@given(text=st.text(AWKWARD, max_size=8))
def test_look_up_gives_the_ids_that_the_file_gives_elsewhere(text):
    """The tables answer, not the library; so what was saved must say the same."""
    for tokenizer in (CHARACTERS, BYTES, BPE):
        library = tokenizers.Tokenizer.from_str(tokenizer._library.to_str())
        library.encode_special_tokens = True
        ids = library.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text).tolist() == ids
        assert tokenizer.decode(ids) == library.decode(ids) == text


@given(ids=st.lists(st.integers(0, BPE.vocab_size - 1)))
def test_broken_bytes_are_decoded_as_the_library_does(ids):
    assert BPE.decode(ids) == BPE._library.decode(ids, skip_special_tokens=True)


def test_ids_are_those_one_expects():
    assert Tokenizer.characters("banana\n").encode("\nabn").tolist() == [0, 1, 2, 3]
    assert BYTES.encode("A€").tolist() == [0x41, 0xE2, 0x82, 0xAC]
    assert BPE.token(int(BPE.encode("in the")[-1])) == "␣the"
    assert (BYTES.vocab_size, BPE.vocab_size) == (260, 300)
    assert (BYTES.kind, BPE.kind, CHARACTERS.kind) == ("bytes", "bpe", "characters")


@pytest.mark.parametrize("tokenizer", [CHARACTERS, BYTES, BPE], ids=repr)
def test_special_tokens_come_last_and_never_out_of_text(tokenizer):
    last = range(tokenizer.vocab_size - 4, tokenizer.vocab_size)
    assert [tokenizer.id(name) for name in SPECIAL] == list(last)
    assert [tokenizer.token(id) for id in last] == list(SPECIAL)
    ids = tokenizer.encode("[PAD]")
    assert not set(ids.tolist()) & set(last)
    assert tokenizer.decode([*last, *ids, *last]) == "[PAD]"
    assert tokenizer.spelling(last[0]) == b""


def test_no_merge_spells_a_special_token():
    tokenizer = Tokenizer.bpe("PAD PAD PADDED " * 50, vocab_size=300, special=["PAD", "ADD"])
    assert tokenizer.special == {"PAD": tokenizer.vocab_size - 2, "ADD": tokenizer.vocab_size - 1}
    assert tokenizer.decode(tokenizer.encode("PAD PADDED ADD")) == "PAD PADDED ADD"


@pytest.mark.parametrize("special", [["[A]", "[A]"], ["a"], ["a b"], ["é["], [""]], ids=repr)
def test_unusable_special_tokens(special):
    with pytest.raises(InputError, match="special token"):
        Tokenizer.bytes(special=special)


@pytest.mark.parametrize("tokenizer", [CHARACTERS, BYTES, BPE], ids=repr)
def test_saved_and_loaded_is_the_same(tokenizer, tmp_path):
    file = tokenizer.save(tmp_path / "new" / "model")
    assert file == tmp_path / "new" / "model" / "tokenizer.json"
    elsewhere = tokenizer.save(tmp_path / "mine.json")
    for path in (file, file.parent, elsewhere):
        loaded = Tokenizer.load(path)
        assert (loaded.kind, loaded.vocab_size) == (tokenizer.kind, tokenizer.vocab_size)
        assert loaded.special == tokenizer.special
        np.testing.assert_array_equal(loaded.encode(AWKWARD), tokenizer.encode(AWKWARD))
        assert loaded.save(tmp_path / "again.json").read_bytes() == file.read_bytes()
    names = sorted(path.name for path in file.parent.iterdir())
    assert names == ["tokenizer.json", "tokenizer_config.json"]
    config = json.loads((file.parent / names[1]).read_text())
    assert config["clean_up_tokenization_spaces"] is False  # some versions of transformers do


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [CHARACTERS, BYTES, BPE], ids=repr)
def test_transformers_opens_it(tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers", reason="peers are not installed")
    tokenizer.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = AWKWARD.removesuffix("[PAD]") + " isn't it , or"
    if tokenizer is CHARACTERS:
        text = AWKWARD.removesuffix("[PAD]")
    ids = theirs(text, add_special_tokens=False)["input_ids"]
    assert ids == tokenizer.encode(text).tolist()
    assert theirs.decode(ids) == text
    assert theirs.mask_token_id == tokenizer.id("[MASK]")
    assert theirs.pad_token_id == tokenizer.id("[PAD]")


def test_byte_pairs_are_the_same_in_every_process():
    code = (
        "import hashlib; from handformer.text import Tokenizer, corpus;"
        "t = Tokenizer.bpe(corpus.read().text[:60000], vocab_size=600);"
        "print(hashlib.sha256(t._library.to_str().encode()).hexdigest())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"RAYON_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(made) == 1


def test_byte_pairs_run_out():
    assert Tokenizer.bpe("ab ab", vocab_size=1000).vocab_size == 258  # "ab", " ab"
    with pytest.raises(InputError, match=r"vocab_size 259 .* 260"):
        Tokenizer.bpe("ab", vocab_size=259, special=SPECIAL)


def test_long_words_are_trained_on_in_a_moment():
    start = time.process_time()
    Tokenizer.bpe("漢字" * 20_000, vocab_size=500)
    assert time.process_time() - start < 5  # 40 s and more if words aren't cut


def test_megabytes_of_characters_take_a_moment():
    text = corpus.read().text * 10
    tokenizer = Tokenizer.characters(text)
    start = time.process_time()
    assert len(tokenizer.encode(text)) == len(text)
    assert time.process_time() - start < 2  # the library takes 20 s and more


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bad", "character 'd' (U+0064) at position 2"),
        ("a\n", "character '\\n' (U+000A) at position 1"),
        ("😀", "character '😀' (U+1F600) at position 0"),
        ("ab\ud800", "character '\\ud800' at position 2"),
    ],
)
def test_a_character_without_a_token(text, message):
    with pytest.raises(InputError) as raised:
        Tokenizer.characters("abc").encode(text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("tokenizer", [BYTES, BPE], ids=repr)
def test_a_lone_surrogate_is_not_text(tokenizer):
    for ask in (tokenizer.encode, tokenizer.id, Tokenizer.characters):
        with pytest.raises(InputError, match=r"position 1 .*surrogate"):
            ask("a\udcff")


def test_an_empty_vocabulary():
    with pytest.raises(InputError, match="empty"):
        Tokenizer.characters("")


@pytest.mark.parametrize("id", [-1, 260, 1 << 40])
def test_an_id_outside_the_vocabulary(id):
    for ask in (BYTES.token, BYTES.spelling, lambda id: BYTES.decode([65, id])):
        with pytest.raises(InputError, match=f"token id {id} .* 260"):
            ask(id)


def test_tokens_are_shown_on_one_line_each_different():
    shown = [CHARACTERS.token(id) for id in CHARACTERS.encode("\n\t\0\u0301 \\␣é")]
    assert shown == ["\\n", "\\t", "\\x00", "\\u0301", "␣", "\\\\", "\\u2423", "é"]
    assert [BYTES.token(id) for id in (0x41, 0x80, 0xE9)] == ["A", "\\x80", "\\xe9"]
    assert Tokenizer.characters("\x80\xad").token(0) == "\\u0080"
    for tokenizer in (CHARACTERS, BYTES, BPE):
        ids = range(tokenizer.vocab_size)
        assert [tokenizer.id(tokenizer.token(id)) for id in ids] == list(ids)
    assert CHARACTERS.id("\n") == CHARACTERS.encode("\n")[0]
    assert BPE.id(" the") == BPE.id("␣the")
    with pytest.raises(InputError, match="'xyz' is no token"):
        BPE.id("xyz")


@settings(max_examples=20)
@given(texts)
def test_damaged_files_are_named(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("damaged") / "tokenizer.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        Tokenizer.load(file)


@pytest.mark.parametrize("keep", [0, 1, 100, 1000, 5000])
def test_a_cut_file_is_named(keep, tmp_path):
    file = BPE.save(tmp_path)
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"tokenizer\.json.*damaged"):
        Tokenizer.load(tmp_path)


def test_hostile_and_missing_files_are_named(tmp_path):
    whole = BPE.save(tmp_path).read_text(encoding="utf-8")
    file = tmp_path / "{braces}.json"
    hostile = [
        whole.replace('"!": 0', '"!": 4294967295').encode(),  # would ask for 4 billion rows
        whole.replace('"!": 0', '"!": -1').encode(),
        whole.replace('"type": "BPE"', '"type": "Other"').encode(),
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}}',
    ]
    for data in hostile:
        file.write_bytes(data)
        with pytest.raises(InputError) as raised:
            Tokenizer.load(file)
        assert "{braces}.json" in str(raised.value)
        assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match=r"nowhere.*No such file"):
        Tokenizer.load(tmp_path / "nowhere")


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"file.*can't be written"):
        BPE.save(tmp_path / "file" / "model")
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(InputError, match="can't be written"):
        BPE.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "tokenizer.json"]
