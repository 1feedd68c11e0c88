"""An example as a page: well-formed, whole, escaped, and without anything from elsewhere."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from handformer.examples import EXAMPLES, LANGUAGES, Example, Language, work
from handformer.examples.show import FORMATS
from handformer.formula.render import mathml, number
from handformer.formula.rounded import rounded
from tests.formula.test_page import Reader

pytestmark = pytest.mark.smoke

each = pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda one: one.name)
told = pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda one: one.code)


@each
@told
def test_a_page_is_well_formed_and_shows_every_step(example: Example, language: Language) -> None:
    worked = work(example, language)
    text = FORMATS["html"](worked)
    read = Reader(text)
    assert read.wrong == []
    assert ("lang", language.code) in read.attributes
    for formula in re.findall(r"<math.*?</math>", text, flags=re.DOTALL):
        ElementTree.fromstring(formula)
    names = [value for name, value in read.attributes if name == "id"]
    assert names == [step.step.value for step in worked.steps]
    for words in (worked.example.title, worked.example.words, worked.example.lesson):
        assert words.replace("`", "") in read.text
    for step in worked.steps:
        assert step.step.words.replace("`", "") in read.text
        assert mathml(step.formula.body, words=language.formula) in text
        for entry in step.entries:
            assert mathml(entry.symbols) in text
            assert mathml(rounded(entry.numbers, entry.formula)) in text
    assert all(meaning in read.text for meaning in map(language.legend.get, worked.letters))


@each
def test_every_number_can_be_seen_whole(example: Example) -> None:
    worked = work(example)
    cells = set(re.findall(r"<td>(.*?)</td>", FORMATS["html"](worked)))
    for array in (*example.inputs.values(), *(step.array for step in worked.steps)):
        whole = {number(entry).replace("-", "−") for entry in np.ravel(array)}
        assert {entry for entry in whole if entry.removesuffix(".0") not in cells} <= cells


def test_texts_are_escaped() -> None:
    evil = "<img src=x onerror=alert(1)> & `<b>` </style></title>"
    example = EXAMPLES["identity"]
    steps = tuple(replace(step, words=evil) for step in example.steps)
    read = Reader(
        FORMATS["html"](work(replace(example, title=evil, words=evil, lesson=evil, steps=steps)))
    )
    assert read.wrong == []
    assert {"img", "b"} & read.tags == set()
    assert read.text.count("onerror=alert(1)") == len(steps) + 4
