import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handformer.errors import InputError
from handformer.text import StopStrings


def streamed(stops, pieces):
    stream = StopStrings(stops)
    text = "".join(stream.push(piece) for piece in pieces)
    return text + stream.finish(), stream.stopped


def expected(stops, text):
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(ends, default=len(text))], bool(ends)


def cuts(text):
    """All the ways of cutting a text in pieces."""
    for choice in itertools.product([False, True], repeat=len(text) - 1):
        places = [0, *(place + 1 for place, cut in enumerate(choice) if cut), len(text)]
        yield [text[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.parametrize(
    ("stops", "text"),
    [
        (["\n\n"], "one\ntwo\n\nx"),
        (["END"], "a EN END"),
        (["bcd", "c"], "abcd"),  # the one that begins earlier wins, even if it ends later
        (["bcd", "c"], "abcx"),
        (["bcd", "c"], "abc"),  # and if it never ends, the other
        (["abab"], "aabaabab"),
        (["aa", "aaa"], "baaaa"),
        (["x"], "none"),
        ([], "none"),
        (["é😀"], "aé😀b"),
    ],
)
def test_every_cutting_gives_the_same(stops, text):
    for pieces in cuts(text):
        assert streamed(stops, pieces) == expected(stops, text), pieces


small = st.text("ab", max_size=4)


@given(st.lists(small.filter(bool), max_size=3), st.lists(small, max_size=6))
def test_any_stops_any_pieces(stops, pieces):
    assert streamed(stops, pieces) == expected(stops, "".join(pieces))


def test_nothing_is_held_back_longer_than_needed():
    stream = StopStrings("abc")
    assert [stream.push(piece) for piece in ("xa", "b", "ab", "d")] == ["x", "", "ab", "abd"]
    assert [stream.push(piece) for piece in ("abc", "more")] == ["", ""]
    assert stream.stopped
    assert stream.finish() == ""


def test_an_empty_stop_string():
    with pytest.raises(InputError, match="stop string ''"):
        StopStrings(["a", ""])
