"""What a notebook shows: numbers that are whole in their titles, escaped texts, kept limits."""

import base64
import re
import struct
import zlib
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import handformer as hand
from handformer import notebook
from handformer.axes import record
from handformer.errors import InputError
from handformer.tracing.notebook import ROWS, contents
from tests.inspector.models import made as text_model
from tests.tracing.small import FAMILIES, model, traced
from tests.tracing.test_figure import HOSTILE, made

VOID = {"img", "br"}
ALLOWED = {
    *("div", "table", "thead", "tbody", "tr", "td", "th", "b", "small", "code", "details"),
    *("summary", "img"),
}


class Reader(HTMLParser):
    """Reads what is shown: cells with their titles; tags that aren't ours are an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        assert {name for name, _ in attrs} <= {"style", "title", "colspan", "alt", "src"}
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append((dict(attrs).get("title") or "", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open and self.open[-1] == "td":
            self.cells[-1] = (self.cells[-1][0], data)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_trace_lists_its_values(family: str) -> None:
    trace = traced(family)
    text = Reader(contents(trace)).text
    assert contents(trace) == trace._repr_html_()
    for path in trace:
        assert path in text
    assert f"{len(trace):,} values" in text
    assert f"loss {trace.loss:.4f}" in text


def test_a_long_list_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handformer.tracing.notebook.ROWS", 20)
    assert ROWS > 20
    page = Reader(contents(traced("gpt2")))
    assert len(page.cells) < 4 * 40
    assert "trace.keys() names them all" in page.text


def test_a_value_shows_its_numbers_whole_its_formula_and_its_tokens() -> None:
    trace = hand.trace(text_model("gpt2"), "The cat")
    page = Reader(trace.show("blocks.0.attention.attn")._repr_html_())
    whole = [title for title, _ in page.cells]
    array = trace["blocks.0.attention.attn"]
    seen = array[np.broadcast_to(np.tri(7, dtype=bool), array.shape)]
    assert [title for title in whole if "hidden" not in title] == [str(x) for x in seen]
    assert whole.count("0.0 (hidden)") == 2 * 21
    assert "attn[b,h,t,s] =" in page.text
    assert "T" in page.text
    assert "h 1" in page.text
    for title, text in page.cells:
        if text:
            assert float(text) == pytest.approx(float(title), rel=5e-4)


def test_a_name_of_others_and_a_value_that_is_not_there() -> None:
    trace = traced("gpt2")
    assert repr(trace.show("loss.loss")).startswith("loss.loss (a number, float64)\n")
    shown = trace.show("blocks.0.attn.hook_pattern")
    assert "blocks.0.attention.attn" in shown._repr_html_()
    with pytest.raises(InputError, match="did you mean"):
        trace.show("blocks.0.attention.atn")


@pytest.mark.parametrize("path", ["tokens", "valid", "norm.gamma", "lens.probs", "embedding.table"])
def test_values_of_every_kind_and_shape(path: str) -> None:
    Reader(traced("gpt2").show(path)._repr_html_())


def test_hostile_texts_stay_texts() -> None:
    trace = made(np.eye(8), "ts", HOSTILE, "<script>")
    page = Reader(trace.show("<script>")._repr_html_())
    assert "<script>" in page.text
    assert "<b>" in page.text
    assert "<script>" in Reader(contents(trace)).text


def test_large_arrays_show_their_ends() -> None:
    numbers = np.arange(10_000.0).reshape(100, 100)
    page = Reader(notebook.grid(numbers))
    shown = [title for title, _ in page.cells if title]
    assert {"0.0", "99.0", "9900.0", "9999.0"} <= {*shown}
    assert len(shown) <= notebook.SIDE**2
    assert "…" in page.text
    even = Reader(notebook.grid(np.zeros((notebook.SIDE, notebook.SIDE))))
    assert "…" not in even.text
    assert len(even.cells) == notebook.SIDE**2


def test_what_is_no_number_and_what_is_hidden_is_told_apart() -> None:
    numbers = np.array([[np.nan, np.inf, -np.inf, 0.0]])
    page = Reader(notebook.grid(numbers, hidden=np.array([[False, False, True, False]])))
    assert page.cells == [("nan", "nan"), ("inf", "inf"), ("-inf (hidden)", ""), ("0.0", "0")]


def pixels(picture: str) -> Any:
    """The pixels of an <img>."""
    found = re.search(r"base64,([\w+/=]+)", picture)
    assert found
    data = base64.b64decode(found[1])
    columns, rows = struct.unpack(">II", data[16:24])
    begin = data.index(b"IDAT") + 4
    size = int.from_bytes(data[begin - 8 : begin - 4], "big")
    lines = np.frombuffer(zlib.decompress(data[begin : begin + size]), np.uint8)
    return lines.reshape(rows, 1 + columns * 4)[:, 1:].reshape(rows, columns, 4)


def test_a_small_picture_has_a_colour_for_each_sign_and_strength() -> None:
    made = pixels(notebook.thumbnail(np.array([[0.0, 1.0, -2.0], [0.5, np.nan, 2.0]])))
    strongest = round(255 * notebook.STRONGEST)
    assert made[0, 0, 3] == 0
    assert_array_equal(made[0, 1], [*notebook.ABOVE, round(strongest / 2)])
    assert_array_equal(made[0, 2], [*notebook.BELOW, strongest])
    assert_array_equal(made[1, 1], [*notebook.ODD, strongest])
    assert notebook.thumbnail(np.zeros((0, 3))) == ""


def test_a_small_picture_of_a_large_array_keeps_its_peaks() -> None:
    array = np.zeros((2, 500, 700))
    array[0, 499, 3], array[1] = -1.0, 9.0
    made = pixels(notebook.thumbnail(array))
    assert max(made.shape[:2]) <= notebook.THUMB
    assert_array_equal(np.argwhere(made[..., 3]), [[made.shape[0] - 1, 0]])
    assert_array_equal(made[-1, 0, :3], notebook.BELOW)


@pytest.mark.parametrize("family", FAMILIES)
def test_records_show_their_arrays_and_parts(family: str) -> None:
    text = Reader(model(family)._repr_html_()).text
    assert "w_q" in text
    assert "12 × " in text
    assert "float32" in text
    assert "ModelConfig" in text


@record
class Odd:
    """A record with odd names."""

    array: Any
    said: str
    parts: Any
    none: None = None


def test_a_record_is_escaped_and_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    part = Odd(np.ones(3, dtype="<U9"), "<i>" * 100, ())
    page: Any = Odd(np.zeros((2, 3)), "<script>", (part, part, part))
    shown = Reader(page._repr_html_())
    assert "<script>" in shown.text
    assert "<i>" * 40 not in shown.text
    assert shown.text.count("parts.") == 3
    monkeypatch.setattr(notebook, "ARRAYS", 2)
    assert "parts.1 Odd …" in Reader(page._repr_html_()).text
    assert "parts.1 Odd …" not in shown.text
