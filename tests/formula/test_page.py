"""A page of its own: well-formed, escaped, and every digit can be seen."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from handformer.formula import Sheet
from handformer.formula.expression import Number, Scalar
from handformer.formula.page import assignments, equation, page, prose, tables

pytestmark = pytest.mark.smoke

VOID = {"meta", "link", "br", "img", "input"}


class Reader(HTMLParser):
    """What is in a page: tags that don't close what was last opened, attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_reader_sees_what_does_not_close() -> None:
    assert Reader("<p><b>x</b></p>").wrong == []
    assert Reader("<p><b>x</p></b>").wrong != []
    assert Reader("<p>").wrong == ["p"]


def test_a_page_needs_nothing_and_runs_nothing() -> None:
    body = ["<p>x</p>", tables({"x": np.eye(2)}), equation(Scalar("x"), (Number(1),))]
    text = page("A title", body, language="zh")
    read = Reader(text)
    assert read.wrong == []
    assert text.startswith("<!doctype html>\n<html lang='zh'>")
    assert "script" not in read.tags
    assert {name for name, _ in read.attributes} & {"src", "href", "onclick"} == set()
    policy = dict(read.attributes)["content"] or ""
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in read.attributes, policy
    assert not re.search(r"url\(|@import", text)


def test_every_text_is_escaped() -> None:
    evil = "</title><script>alert('&')</script> `<b>`"
    read = Reader(page(evil, [f"<p>{prose(evil)}</p>", tables({evil: np.ones(1)}, evil)]))
    assert read.wrong == []
    assert {"script", "b"} & read.tags == set()
    assert read.text.count("<script>alert('&')</script>") == 3


def test_names_in_backquotes_are_code() -> None:
    assert prose("`x` < `w_q`") == "<code>x</code> &lt; <code>w_q</code>"


def test_an_array_can_be_seen_with_every_digit() -> None:
    shown = tables({"x": np.array([[2 / 3, 1.0], [-1e-9, 5.0]])}, "All")
    short, _, whole = shown.partition("<details><summary>All</summary>")
    assert re.findall(r"<td>(.*?)</td>", short) == ["0.6667", "1", "−1e−09", "5"]
    assert re.findall(r"<td>(.*?)</td>", whole) == ["0.6666666666666666", "1.0", "−1e−09", "5.0"]


def test_what_is_not_rounded_has_nothing_to_open() -> None:
    arrays = {"a": np.array([0.5, -2.0]), "b": np.array([True]), "c": np.array([np.inf, -np.inf])}
    assert "details" not in tables(arrays)


def test_of_three_axes_each_matrix_has_its_place() -> None:
    shown = tables({"q": np.zeros((2, 1, 2)), "loss": np.array(2.0)})
    assert re.findall(r"<code>(.*?)</code>", shown) == ["q[0]", "q[1]", "loss"]
    assert shown.count("<tr>") == 3


def test_sides_that_say_the_same_stand_once() -> None:
    body = Sheet.parse("y[t] = exp(x[t])")["y"].body
    shown = equation(Scalar("y"), (body, body, Number(0)))
    assert shown.count("<mo>=</mo>") == 2
    assert Reader(shown).wrong == []


def test_bare_numbers_are_whole() -> None:
    assert re.sub("<.*?>", "", assignments({"d_k": 2, "lr": 0.123456789})) == "dk=2lr=0.123456789"
