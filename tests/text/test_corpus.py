import hashlib
import io
import os
import sys
from pydoc_data import topics
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handformer.errors import InputError
from handformer.text import corpus


def test_embedded():
    got = corpus.read()
    assert got.text == "".join(topics.topics.values())
    assert got.sha256 == hashlib.sha256(got.text.encode()).hexdigest()
    assert got.files == ()
    assert f"Python 3.{sys.version_info[1]}" in got.name


def test_a_file_is_kept_as_it_is(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes("\ufeffé\r\n\u2028\ufeff\t😀".encode())
    got = corpus.read(file)
    assert got.text == "é\r\n\u2028\ufeff\t😀"
    assert (got.name, got.files, got.skipped) == (str(file), (str(file),), 0)


def folder(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    contents = {
        "b/two.txt": b"second",
        "b.txt": b"third\n",
        "c.txt": b"last",
        "a.txt": "\ufefffirst".encode(),
        "empty.txt": b"",
        "photo.png": b"\x89PNG\0",
        "latin.txt": b"caf\xe9 au lait",
        "wide.txt": "wide".encode("utf-16"),
        ".hidden": b"hidden",
        ".git/config": b"hidden",
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "dangling.txt").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_a_folder(tmp_path):
    got = corpus.read(folder(tmp_path))
    assert got.text == "first\nsecond\nthird\nlast"
    names = [os.path.relpath(file, tmp_path) for file in got.files]
    assert names == ["a.txt", "b/two.txt", "b.txt", "c.txt"]
    assert got.skipped == 5  # the picture, two encodings, the dangling link, the pipe


def test_a_pattern(tmp_path):
    pattern = str(folder(tmp_path) / "**" / "[bt]*.txt")
    got = corpus.read(pattern)
    assert got.text == "third\nsecond"
    assert (got.name, len(got.files)) == (pattern, 2)
    (tmp_path / "[x].txt").write_text("a name that looks like a pattern")
    assert corpus.read(tmp_path / "[x].txt").text.startswith("a name")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("né\r\n".encode())))
    assert corpus.read("-").text == "né\r\n"


def test_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("at home")
    assert corpus.read("~/a.txt").text == "at home"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no text at all"),
        ("\ufeff".encode(), "no text at all"),
        (b"\n", r"nothing but '\\n'"),
        ("\ufeffé".encode(), "nothing but 'é'"),
        (b"abc\0def", "binary .byte 3"),
        ("text".encode("utf-16"), "UTF-16"),
        ("\ufeffab€".encode()[:-1], "cut inside a UTF-8 character at byte 5 of 7"),
        (b"caf\xe9 au lait", "not UTF-8 text .byte 3 is 0xe9"),
        (b"caf\xff", "not UTF-8 text .byte 3 is 0xff"),
    ],
)
def test_a_file_that_is_no_text(data, message, tmp_path):
    file = tmp_path / "bad.txt"
    file.write_bytes(data)
    with pytest.raises(InputError, match=rf"bad\.txt.*{message}"):
        corpus.read(file)


def test_a_cut_file_in_a_folder_is_not_passed_over(tmp_path):
    (tmp_path / "a.txt").write_text("fine")
    (tmp_path / "b.txt").write_bytes(b"caf\xc3")
    with pytest.raises(InputError, match=r"b\.txt.*cut inside .* byte 3 of 4"):
        corpus.read(tmp_path)


@pytest.mark.parametrize(
    "source", ["nowhere.txt", "nowhere*.txt", "", "a\0b", "x" * 5000, "~nobody/"]
)
def test_nothing_there(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("not meant")
    with pytest.raises(InputError) as raised:
        corpus.read(source)
    assert repr(source) in str(raised.value)
    assert "name a text file" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_without_text(tmp_path):
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\0")
    with pytest.raises(InputError, match=r"no text file \(1 files"):
        corpus.read(tmp_path)


def test_a_python_without_its_manual(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data", None)
    with pytest.raises(InputError, match="embedded"):
        corpus.read()


@given(st.integers(0, 60), st.integers(1, 20), st.floats(0.01, 0.99))
def test_split(n, context, fraction):
    ids = np.arange(n)
    if n < 2 * (context + 1):
        with pytest.raises(InputError, match=rf"has {n} tokens.* {2 * (context + 1)}:"):
            corpus.split(ids, context, fraction)
        return
    train, validation = corpus.split(ids, context, fraction)
    np.testing.assert_array_equal(np.concatenate([train, validation]), ids)
    assert min(len(train), len(validation)) > context
    wanted = int(n * (1 - fraction))
    if context < wanted < n - context:
        assert len(train) == wanted


def test_split_as_people_know_it():
    """Nine tenths of Shakespeare's 1,115,394 characters, rounded down."""
    train, validation = corpus.split(np.zeros(1_115_394, np.int64), 64)
    assert (len(train), len(validation)) == (1_003_854, 111_540)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_a_fraction_out_of_range(fraction):
    with pytest.raises(InputError, match="validation_fraction"):
        corpus.split(np.arange(100), 4, fraction)
