"""What is printed: nothing is lost, nothing is too wide, and each form is well-formed."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer.examples import EXAMPLES, Worked, work
from handformer.examples.show import FORMATS
from handformer.examples.show.arrays import beside, labelled
from handformer.formula.render import formula_latex, formula_text, latex, plain
from handformer.formula.rounded import rounded

WIDTH = 80


@pytest.fixture(scope="module", params=EXAMPLES)
def worked(request: pytest.FixtureRequest) -> Worked:
    return work(EXAMPLES[request.param])


def together(text: str) -> str:
    """Without line breaks and indentation."""
    return " ".join(text.split())


def test_text_shows_every_formula_and_entry_whole_and_keeps_its_width(worked: Worked) -> None:
    text = FORMATS["text"](worked)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert not re.search(r"[ \t]$", text, flags=re.MULTILINE)
    assert "`" not in text
    read = together(text)
    for step in worked.steps:
        assert together(formula_text(step.formula)) in read
        assert together(step.step.words.replace("`", "")) in read
        for entry in step.entries:
            assert f"= {together(plain(entry.symbols))}" in read
            assert f"= {together(plain(rounded(entry.numbers, entry.formula)))}" in read


def test_text_shows_every_value_in_all_its_entries(worked: Worked) -> None:
    text = FORMATS["text"](worked)
    for step in worked.steps:
        if step.array.size > len(step.entries):
            for line in labelled(step.step.value, step.array, WIDTH - 4):
                assert line in text
        else:
            assert len({entry.place for entry in step.entries}) == step.array.size


def test_json_holds_every_number_whole(worked: Worked) -> None:
    def numbers(value: Any) -> Any:
        return [numbers(v) for v in value] if isinstance(value, list) else float(value)

    read = json.loads(FORMATS["json"](worked))
    for name, array in worked.example.inputs.items():
        assert_array_equal(numbers(read["inputs"][name]), array.astype(np.float64), strict=True)
    for step, shown in zip(worked.steps, read["steps"], strict=True):
        assert shown["name"] == step.step.value
        assert shown["formula"] == formula_text(step.formula)
        assert shown["latex"] == formula_latex(step.formula)
        value = np.array(numbers(shown["value"]))
        assert_array_equal(value, step.array.astype(np.float64), strict=True)
        assert_array_equal(numbers(shown["by_hand"]), np.asarray(step.hand, dtype=np.float64))
        for entry, line in zip(step.entries, shown["entries"], strict=True):
            assert line["place"] == list(entry.place)
            assert (line["symbols"], line["numbers"]) == (
                plain(entry.symbols),
                plain(entry.numbers),
            )
            assert float(line["value"]) == entry.value
            found = [(p["name"], tuple(p["place"]), float(p["value"])) for p in line["from"]]
            assert found == list(entry.parents)


def unbalanced(text: str) -> Iterator[str]:
    """Braces, \\left and \\right, and environments that don't close what was last opened."""
    open_: list[str] = []
    for found in re.finditer(r"\\(?:begin|end)\{(\w+)\}|\\left\b|\\right\b|(?<!\\)[{}]", text):
        sign = found[0]
        if sign.startswith(r"\begin"):
            open_.append(found[1])
        elif sign in (r"\left", "{"):
            open_.append(sign)
        else:
            closes = {r"\right": r"\left", "}": "{"}.get(sign, found[1])
            if not open_ or open_.pop() != closes:
                yield text[max(found.start() - 40, 0) : found.end()]
    yield from open_


def test_markdown_and_latex_hold_every_step_and_are_well_formed(worked: Worked) -> None:
    page, document = FORMATS["markdown"](worked), FORMATS["latex"](worked)
    display = re.findall(r"^\$\$\n(.+)\n\$\$$", page, flags=re.MULTILINE)
    assert len(display) * 2 == page.count("$$")
    assert re.findall(r"^\\\[ (.+) \\\]$", document, flags=re.MULTILINE) == display
    assert list(unbalanced(page)) == list(unbalanced(document)) == []
    for count, step in enumerate(worked.steps, 1):
        assert f"\n## {count}. `{step.step.value}`\n\n{step.step.words}\n" in page
        assert formula_latex(step.formula) in display
        for entry in step.entries:
            assert any(f"&= {latex(entry.symbols)}" in one for one in display)
            assert any(
                f"&= {latex(rounded(entry.numbers, entry.formula))}" in one for one in display
            )
    outside = re.sub(r"^\\\[ .* \\\]$", "", document, flags=re.MULTILINE)
    assert re.findall(r"(?<!\\)[_#%^~]", outside) == []


def test_the_check_of_balance_can_fail() -> None:
    assert list(unbalanced(r"\left(\frac{1}{2}\right)\begin{a}x\end{a}")) == []
    for wrong in (r"{", r"\left( }", r"\begin{a}\end{b}", r"\right)", r"\left(\begin{a}\right)"):
        assert list(unbalanced(wrong)) != []


def test_a_step_reads_as_on_paper() -> None:
    text = FORMATS["text"](work(EXAMPLES["identity"]))
    assert (
        """
    scores[t,s] = sum(c, q[t,c] * k[s,c]) / sqrt(d_k)

    scores[0,0] = (q[0,0] * k[0,0] + q[0,1] * k[0,1]) / sqrt(d_k)
                = (1 * 1 + 0 * 0) / sqrt(2)
                = 0.7071
"""
        in text
    )
    assert (
        """
    scores = [ 0.7071  0      ]
             [ 0       0.7071 ]
"""
        in text
    )
    assert (
        """
    attn = [ 0.6698  0.3302 ]
           [ 0.3302  0.6698 ]
"""
        in text
    )
    assert "0.66976" in text


def test_a_formula_s_own_numbers_are_not_rounded() -> None:
    text = FORMATS["text"](work(EXAMPLES["gelu"]))
    assert "= sqrt(2 / 3.142) * (1 + 0.044715 * 1 ** 3)" in text


def test_what_json_has_no_number_for_is_a_string() -> None:
    read = json.loads(FORMATS["json"](work(EXAMPLES["hidden-row"])))
    assert read["steps"][0]["value"][1] == "-inf"


def test_arrays_stand_with_their_points_under_each_other() -> None:
    array = np.array([[1.0, -0.25], [12.5, 3.0]])
    assert labelled("x", array, 80) == ["x = [  1    -0.25 ]", "    [ 12.5   3    ]"]
    assert labelled("x", np.array(2.0), 80) == ["x = 2"]
    heads = labelled("q", np.array([[[1]], [[2]]]), 80)
    assert heads == ["q[0] = [ 1 ]    q[1] = [ 2 ]"]


def test_blocks_stand_beside_each_other_as_far_as_they_fit() -> None:
    blocks = [["aa", "a"], ["bb"], ["c"]]
    assert beside(blocks, 20) == ["aa    bb    c", "a"]
    assert beside(blocks, 8) == ["aa    bb", "a", "", "c"]
