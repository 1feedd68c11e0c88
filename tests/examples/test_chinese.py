"""The examples in Chinese: nothing is missing, nothing left over, and the facts are the same."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from handformer.axes import LEGEND
from handformer.examples import EXAMPLES, LANGUAGES, Example, work
from handformer.examples.chinese import CHINESE
from handformer.examples.language import ENGLISH, Telling
from handformer.examples.show import FORMATS
from handformer.examples.show.prose import columns, wrap

pytestmark = pytest.mark.smoke

WIDTH = 80
HAN = re.compile(r"[\u4e00-\u9fff]")
each = pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda one: one.name)


def texts(one: Example | Telling) -> dict[str, str]:
    """Every text by where it stands."""
    steps = {s.value: s.words for s in one.steps} if isinstance(one, Example) else dict(one.steps)
    return {"title": one.title, "words": one.words, "lesson": one.lesson, **steps}


def code(text: str) -> set[str]:
    return set(re.findall(r"`([^`]*)`", text))


def numerals(text: str) -> set[str]:
    """Numbers in digits, also those in arithmetic; not the 64 of float64."""
    return set(re.findall(r"(?<![A-Za-z_\d.])\d+(?:\.\d+)?(?:e-?\d+)?", text))


def differing(what: Callable[[str], set[str]], one: Example, other: Telling) -> dict[str, set[str]]:
    english, chinese = texts(one), texts(other)
    return {
        place: what(text) ^ what(chinese[place])
        for place, text in english.items()
        if what(text) != what(chinese[place])
    }


def test_every_example_is_told_and_no_other() -> None:
    assert list(CHINESE.texts) == list(EXAMPLES)
    assert list(LANGUAGES) == ["en", "zh"]


@each
def test_every_step_is_told_and_no_other(example: Example) -> None:
    assert list(CHINESE.texts[example.name].steps) == [step.value for step in example.steps]


@each
def test_every_text_is_chinese(example: Example) -> None:
    told = texts(CHINESE.texts[example.name])
    # Words that no Chinese text writes otherwise: names of operations, values and formats.
    latin = {place: text for place, text in told.items() if not HAN.search(text)}
    assert latin == {}
    assert [text for text in told.values() if re.search(r"[,;:!?](?=[\u4e00-\u9fff])", text)] == []
    assert [text for text in told.values() if text.strip() != text or "  " in text] == []


@each
def test_names_in_backquotes_agree(example: Example) -> None:
    assert differing(code, example, CHINESE.texts[example.name]) == {}


@each
def test_numbers_agree(example: Example) -> None:
    assert differing(numerals, example, CHINESE.texts[example.name]) == {}


def test_the_comparison_can_fail() -> None:
    example = EXAMPLES["identity"]
    told = CHINESE.texts["identity"]
    wrong = replace(told, words=told.words.replace("`x`", "x").replace("2", "3"))
    assert differing(code, example, wrong) == {"words": {"x"}}
    assert differing(numerals, example, wrong) == {"words": {"2", "3"}}


def test_the_legend_names_every_axis_and_no_other() -> None:
    assert list(CHINESE.legend) == list(LEGEND)
    assert all(map(HAN.search, CHINESE.legend.values()))


@each
def test_telling_changes_the_words_and_nothing_else(example: Example) -> None:
    told = CHINESE.tell(example)
    assert ENGLISH.tell(example) is example
    assert (told.name, told.inputs, told.expected) == (
        example.name,
        example.inputs,
        example.expected,
    )
    assert [step.at for step in told.steps] == [step.at for step in example.steps]
    assert texts(told) == texts(CHINESE.texts[example.name])


def test_an_example_of_one_s_own_keeps_its_words() -> None:
    mine = replace(EXAMPLES["identity"], name="mine")
    assert CHINESE.tell(mine) is mine


@each
def test_text_keeps_its_width_by_columns(example: Example) -> None:
    lines = FORMATS["text"](work(example, CHINESE)).splitlines()
    assert [line for line in lines if columns(line) > WIDTH] == []
    assert len(lines[1]) == columns(lines[0])
    # What closes a phrase never begins a line.
    assert [line for line in lines if re.match(r"\s*[，。、；：？！）]", line)] == []


@each
@pytest.mark.parametrize("form", [form for form in FORMATS if form != "text"])
def test_every_form_holds_every_text(example: Example, form: str) -> None:
    printed = FORMATS[form](work(example, CHINESE))
    marks = {"markdown": None, "json": None, "latex": r"\\texttt\{([^}]*)\}", "html": "</?code>"}
    plain = printed
    if marks[form]:
        plain = re.sub(r"\\([&%$#_{}])", r"\1", printed)
        plain = re.sub(marks[form] or "", r"\1" if form == "latex" else "", plain)
        plain = re.sub(r"\\text(less|greater)\{\}|&(lt|gt);", _sign, plain).replace("&#x27;", "'")
        plain = plain.replace(r"\textasciicircum{}", "^")
    for text in texts(CHINESE.tell(example)).values():
        assert (text.replace("`", "") if marks[form] else text) in plain
    assert CHINESE.take_home in printed or form == "json"


def _sign(found: re.Match[str]) -> str:
    return "<" if "less" in found[0] or found[0] == "&lt;" else ">"


def test_latex_takes_a_class_with_chinese_fonts_only_where_it_is_needed() -> None:
    example = EXAMPLES["identity"]
    assert FORMATS["latex"](work(example)).startswith("\\documentclass{article}\n")
    assert FORMATS["latex"](work(example, CHINESE)).startswith("\\documentclass{ctexart}\n")


@pytest.mark.parametrize("form", ["markdown", "latex", "html", "json"])
def test_the_words_of_a_formula_are_chinese(form: str) -> None:
    example = EXAMPLES["causal-mask"]
    assert "否则" in FORMATS[form](work(example, CHINESE))
    assert "otherwise" not in FORMATS[form](work(example, CHINESE))
    assert "otherwise" in FORMATS[form](work(example))


def test_json_says_the_axes_in_chinese() -> None:
    read = json.loads(FORMATS["json"](work(EXAMPLES["identity"], CHINESE)))
    assert read["axes"]["t"] == "查询的位置"


def test_lines_break_between_signs_and_words_but_not_before_what_closes() -> None:
    assert wrap("一二三，四五", 7) == ["一二", "三，四", "五"]
    assert wrap("一（二）三", 6) == ["一", "（二）", "三"]
    assert wrap("用 w_q 乘", 6) == ["用 w_q", "乘"]
    assert wrap("two words", 5) == ["two", "words"]
    assert wrap("", 5) == []
    assert columns("一a") == 3
