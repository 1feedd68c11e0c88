"""Pictures of a trace: the same bytes every time, every kind of value, and what can't be drawn."""

import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import handformer as hand
from handformer.errors import InputError
from handformer.examples import find
from handformer.examples.traced import traced as example
from handformer.tracing import figure as drawing
from handformer.tracing import lettering, planes
from handformer.tracing.figure import figure
from handformer.tracing.manifest import Manifest, Text, Value
from handformer.tracing.trace import Trace
from tests.tracing.small import traced

HOSTILE = ["<b>", "$\\frac$", "-->", "\x00\x1b", "\u2028", "猫", "", "\U0001f408\ue000"]


def made(array: Any, axes: str, texts: list[str] | None = None, name: str = "x") -> Trace:
    """A trace of one value."""
    value = Value(path=name, kind="value", axes=(*axes,), shape=array.shape, dtype=str(array.dtype))
    text = None if texts is None else Text(tokens=[texts], targets=[[None] * len(texts)])
    manifest = Manifest(
        version="0", name="one", model="None", config=None, dtype="float64", sheets=(), scopes=(),
        values=(value,), text=text,
    )  # fmt: skip
    return Trace(manifest, {name: array})


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_equal_traces_give_equal_bytes(kind: str, tmp_path: Path) -> None:
    numbers = np.array([[-np.inf, 1.0, -2.0], [0.5, np.nan, 3.0]])
    trace = made(np.stack([numbers, -numbers]), "hts")
    paths = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for path in paths:
        figure(trace, path, pattern="x")
    one, two = (path.read_bytes() for path in paths)
    assert one == two
    assert b"<dc:date>" not in one
    assert b"CreationDate" not in one


def texts(path: Path) -> list[str]:
    """The texts of a picture: matplotlib leaves each as a comment beside its outlines."""
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    tree = ElementTree.parse(path, parser)
    found = (node.text or "" for node in tree.iter() if node.tag is ElementTree.Comment)
    return [unescape(text.strip()) for text in found]


def test_the_first_attention_head_by_head_with_its_axes(tmp_path: Path) -> None:
    figure(traced("gpt2"), tmp_path / "attn.svg")
    said = texts(tmp_path / "attn.svg")
    for expected in (
        "h 0", "h 1", "h 2", "t: query position", "s: key position",
        "gpt2   blocks.0.attention.attn   (b 2, h 3, t 5, s 5)",
    ):  # fmt: skip
        assert expected in said, said
    assert "b 0" not in said


@pytest.mark.parametrize(
    "path",
    [
        "blocks.1.attention.d_scores", "blocks.0.norm_1.out", "embedding.table", "norm.gamma",
        "tokens", "valid", "loss.loss", "lens.probs", "blocks.0.attention.scores", "logits",
    ],
)  # fmt: skip
def test_any_value_is_drawn(path: str, tmp_path: Path) -> None:
    trace = traced("gpt2")
    if path not in trace:
        path = "head.out"
    figure(trace, tmp_path / "a.svg", pattern=path)
    title = next(text for text in texts(tmp_path / "a.svg") if text.startswith("gpt2   "))
    assert trace.entry(path).path in title


@pytest.mark.parametrize("family", ["llama", "transformer"])
def test_every_family_has_an_attention_to_draw(family: str, tmp_path: Path) -> None:
    figure(traced(family), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_few_numbers_are_written_out(tmp_path: Path) -> None:
    figure(example(find("identity")), tmp_path / "a.svg")
    said = texts(tmp_path / "a.svg")
    assert said.count("0.6698") == 2
    assert said.count("0.3302") == 2


def test_hostile_texts_are_drawn_as_texts(tmp_path: Path) -> None:
    trace = made(np.eye(8), "ts", HOSTILE)
    figure(trace, tmp_path / "a.svg", pattern="x")
    said = texts(tmp_path / "a.svg")  # well-formed, or it couldn't be read
    assert {"<b>", "$\\frac$", "\\x00\\x1b", "\\u2028"} <= {*said}
    figure(made(np.eye(8), "ts", ["$"] * 8), tmp_path / "b.png", pattern="x")


def test_a_character_that_no_font_has_is_an_escape() -> None:
    from matplotlib import rc_context

    with rc_context({"font.family": ["DejaVu Sans"]}):
        assert lettering.fit("aé\ue000") == "aé\\ue000"
        assert lettering.fit("a" * 20) == "a" * 13 + "…"


def test_hidden_places_are_those_of_the_mask() -> None:
    trace = traced("gpt2")
    for name in ("attn", "scores", "d_scores"):
        (plane, *_) = planes.planes(trace, f"blocks.1.attention.{name}")
        assert_array_equal(plane.hidden, np.triu(np.ones((5, 5)), 1))
    (second, *_) = planes.planes(trace, "blocks.1.attention.attn", row=1)
    hidden = np.triu(np.ones((5, 5), bool), 1)
    hidden[:, 3:] = True  # padding
    hidden[3:] = second.hidden[3:]  # what padding itself sees doesn't matter
    assert_array_equal(second.hidden, hidden)
    (plane,) = planes.planes(trace, "blocks.1.mid")
    assert not plane.hidden.any()


def test_planes_hold_the_numbers_of_the_value() -> None:
    trace = traced("gpt2")
    array = trace["blocks.1.attention.d_scores"]
    for row in (0, 1):
        found = list(planes.planes(trace, "blocks.1.attention.d_scores", row=row))
        assert [plane.place for plane in found] == ["h 0", "h 1", "h 2"]
        for head, plane in enumerate(found):
            assert_array_equal(plane.numbers, array[row, head])
    (vector,) = planes.planes(trace, "norm.gamma")
    assert_array_equal(vector.numbers, trace["norm.gamma"][None])
    assert vector.columns.name == "i: place in the model width"


def test_minus_infinity_is_hidden_and_what_is_no_number_is_not(tmp_path: Path) -> None:
    array = np.array([[-np.inf, 1.0], [np.nan, np.inf]])
    (plane,) = planes.planes(made(array, "ts"), "x")
    assert plane.hidden.tolist() == [[True, False], [False, False]]
    figure(made(array, "ts"), tmp_path / "a.svg", pattern="x")


def test_texts_follow_their_axes_and_positions() -> None:
    from tests.inspector.models import made as text_model

    writer = text_model("gpt2")
    whole = hand.trace(writer, "The cat")
    (plane, *_) = planes.planes(whole, "blocks.0.attention.attn")
    assert plane.rows.texts == ("T", "h", "e", "␣", "c", "a", "t")
    assert plane.columns.texts == plane.rows.texts
    cut = hand.trace(writer, "The cat", positions=[1, 4])
    (plane, *_) = planes.planes(cut, "blocks.0.attention.attn")
    assert plane.rows.texts == ("h", "c")
    assert plane.columns.texts == ("T", "h", "e", "␣", "c", "a", "t")
    bare = traced("gpt2")
    (plane, *_) = planes.planes(bare, "blocks.0.mid")
    assert [plane.rows.label(3), plane.columns.label(3)] == ["3", "3"]


def test_of_more_than_can_be_seen_the_largest_magnitudes_are(tmp_path: Path) -> None:
    numbers = np.zeros((3000, 2))
    numbers[1234, 1], numbers[2999, 0] = -7.0, 3.0
    small = drawing._largest(numbers, [3, 1])
    assert small.shape == (1000, 2)
    assert (small.min(), small.max(), np.count_nonzero(small)) == (-7.0, 3.0, 2)
    figure(made(numbers, "ni"), tmp_path / "a.svg", pattern="x")
    assert "n: vocabulary entry (the largest of each 3)" in texts(tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("name", "pattern", "complaint"),
    [
        ("a.gif", None, r"a\.gif: a picture ends in \.svg, \.png, \.pdf; give it such a name"),
        ("a.svg", "blocks.0.attention.atn", r"did you mean .*attn"),
        ("a.svg", "*.attn", r"\*\.attn: fits 2 values, among them blocks\.0\.attention\.attn and"),
        ("a.svg", "*.nothing", r"unknown value \*\.nothing"),
        ("gone/a.svg", "loss.loss", r"gone/a\.svg: can't write: No such file"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    name: str, pattern: str | None, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        figure(traced("gpt2"), tmp_path / name, pattern=pattern)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_attention_no_entries_or_too_many_planes(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    with pytest.raises(InputError, match="the trace holds no attention; name what"):
        figure(made(np.eye(2), "ts"), path)
    with pytest.raises(InputError, match="x: has no entries"):
        figure(made(np.zeros((0, 2)), "ts"), path, pattern="x")
    with pytest.raises(InputError, match="x: 65 planes of 1 x 2, expected at most 64"):
        figure(made(np.zeros((65, 1, 2)), "hts"), path, pattern="x")
    assert not path.exists()


@pytest.mark.parametrize(
    ("count", "grid"), [(1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 2)), (6, (2, 3)),
                        (7, (3, 3)), (12, (3, 4)), (16, (4, 4)), (64, (8, 8))]
)  # fmt: skip
def test_planes_stand_in_a_grid(count: int, grid: tuple[int, int]) -> None:
    assert drawing._grid(count) == grid


def test_the_picture_library_is_loaded_only_to_draw() -> None:
    code = "import sys, handformer.tracing.figure; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
