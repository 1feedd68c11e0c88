"""The page of a check: what it holds, and how a reader goes through it, without a network."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handformer.checking.report import Report, Status
from handformer.inspector import export
from handformer.inspector.checked import page, part
from tests.checking.show.reports import (
    HOSTILE,
    OTHERS,
    SCALE,
    SCORES,
    compared,
    fine,
    scaled,
    with_verdict,
)
from tests.inspector.test_export import Parts, boot
from tests.tracing.small import traced

GRADIENT = "blocks.0.attention.d_q"


@pytest.fixture(scope="module")
def found() -> Report:
    """Scores that are wrong in both blocks, a gradient that is a little wrong, hostile names."""
    right = np.asarray(traced("gpt2")[GRADIENT])
    theirs = right * 1.02
    report = with_verdict(
        scaled(2), GRADIENT, status=Status.WRONG, since=(), local=compared(theirs, right),
        hints=("each number is 1.02 of what it should be",), called=HOSTILE,
    )  # fmt: skip
    return replace(
        report,
        unknown={HOSTILE: (SCORES,)},
        aside={HOSTILE: HOSTILE},
        dump=HOSTILE,
        theirs={**report.theirs, GRADIENT: theirs},
        right={**report.right, GRADIENT: right},
    )


def test_it_holds_both_sides_of_what_is_wrong(found: Report) -> None:
    held = boot(Parts(page(found, traced("gpt2")).decode()))["check"]
    assert held["first"] == SCORES
    data = base64.b64decode(held["data"], validate=True)
    for side, arrays in (("theirs", found.theirs), ("right", found.right)):
        assert {*held["tensors"][side]} == {SCORES, OTHERS, GRADIENT}
        for path, tensor in held["tensors"][side].items():
            begin, end = tensor["offsets"]
            assert tensor["dtype"] == "F64"
            read = np.frombuffer(data[begin:end], "<f8").reshape(tensor["shape"])
            np.testing.assert_array_equal(read, arrays[path])


def test_the_formula_with_the_mistake_is_a_tree_and_one_in_words_is_none(found: Report) -> None:
    (value,) = [one for one in part(found)["values"] if one["path"] == SCORES]
    (cause,) = value["causes"]
    assert cause["tree"]["name"] == "scores"
    assert cause["tree"]["axes"] == ["b", "h", "t", "s"]
    assert cause["tree"]["body"][-1] == ["call", "sqrt", [["scalar", "d_model"]]]
    worded = with_verdict(found, SCORES, causes=(replace(SCALE, formula="what a pity"),))
    (value,) = [one for one in part(worded)["values"] if one["path"] == SCORES]
    assert value["causes"][0]["tree"] is None


@pytest.mark.parametrize("kind", ["float16", "float32", "int32", "bool"])
def test_arrays_of_any_type_are_read_as_the_page_reads(kind: str, found: Report) -> None:
    array = np.array([[0, 1, 1]]).astype(kind)
    held = part(replace(found, theirs={SCORES: array}))
    tensor = held["tensors"]["theirs"][SCORES]
    types = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "BOOL": "?"}
    begin, end = tensor["offsets"]
    read = np.frombuffer(base64.b64decode(held["data"])[begin:end], types[tensor["dtype"]])
    np.testing.assert_array_equal(read.reshape(tensor["shape"]), array)


def test_of_a_large_case_only_what_is_asked_for_is_kept(
    found: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "LARGEST", export.forecast(traced("gpt2")) - 1)
    (held,) = boot(Parts(page(found, traced("gpt2")).decode()))["traces"]
    kept = {value["path"] for value in held["manifest"]["values"] if value["kept"]}
    assert kept == {*held["tensors"]}
    assert {SCORES, GRADIENT, "blocks.0.attention.q", "tokens", "mask"} <= kept
    assert "blocks.0.mlp.out" not in kept


Opened = Callable[..., Any]
SHOWN = """() => {
  const {state, address} = document.querySelector("#view").dataset;
  return state === "ready" && address === location.hash;
}"""


@pytest.fixture
def opened(tab: Any, tmp_path: Path) -> Iterator[Opened]:
    """`opened(report)`: its page in a browser without a network; what it fetches fails the test."""
    path = tmp_path / "check.html"
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.context.set_offline(True)

    def open_page(report: Report, address: str = "") -> Any:
        path.write_bytes(page(report, traced("gpt2")))
        tab.goto(path.as_uri() + address)
        tab.wait_for_function(SHOWN)
        return tab

    yield open_page
    assert not [url for url in asked if not url.startswith(("data:", path.as_uri()))]


def shown(tab: Any) -> str:
    """The path of the value that is shown."""
    tab.wait_for_function(SHOWN)
    return str(tab.get_attribute("[data-value]", "data-value"))


@pytest.mark.slow
def test_it_opens_with_the_answer_at_the_first_wrong_step(opened: Opened, found: Report) -> None:
    tab = opened(found)
    assert tab.inner_text("[data-answer]").startswith(f"{SCORES} is the first step that differs.")
    assert shown(tab) == SCORES
    assert "3 wrong" in tab.inner_text("[data-count=wrong]")
    assert tab.get_attribute(f"[data-path='{SCORES}']", "aria-current") == "true"
    (verdict, *_) = found.bad
    assert verdict.local is not None
    for name in ("theirs", "off", "allowed"):
        said = tab.get_attribute(f"[data-figure={name}] [data-whole]", "data-whole")
        assert float(said) == getattr(verdict.local, name)
    formulas = tab.locator("[data-formula] math")
    assert formulas.count() == 2
    assert "model" in (formulas.nth(1).text_content() or "")
    assert "model" not in (formulas.nth(0).text_content() or "")


@pytest.mark.slow
def test_the_three_maps_show_the_same_place(opened: Opened, found: Report) -> None:
    tab = opened(found, f"#/check/{SCORES}?at=1,2,3,0")
    place = (1, 2, 3, 0)

    def read() -> list[float]:
        lines = tab.locator(".check-map [data-readout]").all_inner_texts()
        name = f"scores[{','.join(map(str, place))}] = "
        assert all(line.startswith(name) for line in lines), lines
        return [float(line.removeprefix(name)) for line in lines]

    def numbers() -> list[float]:
        theirs, right = (float(side[SCORES][place]) for side in (found.theirs, found.right))
        return [theirs, right, theirs - right]

    assert read() == pytest.approx(numbers(), rel=1e-5)
    tab.focus("[data-side=right] [data-heat]")
    tab.keyboard.press("ArrowRight")
    place = (1, 2, 3, 1)
    assert read() == pytest.approx(numbers(), rel=1e-5)
    cell = tab.locator("[data-side=theirs] [data-heat]").bounding_box()
    tab.mouse.move(cell["x"] + cell["width"] - 8, cell["y"] + cell["height"] - 8)
    place = (1, 2, 4, 4)
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.check-map [data-readout]')]"
        ".every(({textContent}) => textContent.startsWith('scores[1,2,4,4]'))"
    )
    assert read() == pytest.approx(numbers(), rel=1e-5)
    link = tab.get_attribute("[data-action=arithmetic]", "href")
    assert "1,2,3,1" in link  # where the cursor is, not the pointer


@pytest.mark.slow
def test_a_small_difference_has_a_scale_of_its_own(opened: Opened, found: Report) -> None:
    tab = opened(found)
    assert tab.get_attribute("[data-own-scale]", "data-own-scale") == "no"
    tab.click(f"[data-path='{GRADIENT}']")
    assert shown(tab) == GRADIENT
    assert tab.get_attribute("[data-own-scale]", "data-own-scale") == "yes"
    assert "each number is 1.02" in tab.inner_text("[data-hint]")
    rows = tab.locator("[data-farthest] tbody tr")
    off = np.sort(np.abs(found.theirs[GRADIENT] - found.right[GRADIENT]).ravel())[::-1]
    for row, wanted in zip(rows.all(), off, strict=False):
        said = row.locator("[data-whole]").nth(2).get_attribute("data-whole")
        assert abs(float(said)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
def test_by_keyboard_from_one_wrong_value_to_the_next(opened: Opened, found: Report) -> None:
    tab = opened(found)
    for path in (OTHERS, GRADIENT, SCORES):
        tab.keyboard.press("n")
        assert shown(tab) == path
    tab.keyboard.press("p")
    assert shown(tab) == GRADIENT
    tab.focus(f"[data-path='{SCORES}']")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    assert shown(tab) == "blocks.0.attention.attn"
    since = tab.locator(".check-value header li a")
    assert since.all_inner_texts() == [SCORES]
    tab.click("[data-action=reference]")
    tab.wait_for_selector("[data-chart='blocks.0.attention.attn']")


@pytest.mark.slow
def test_a_part_that_was_folded_opens_for_its_value(opened: Opened, found: Report) -> None:
    tab = opened(found)
    assert tab.locator("[data-path='norm.x_hat']").count() == 0
    tab = opened(found, "#/check/norm.x_hat")
    assert tab.locator("[data-path='norm.x_hat']").is_visible()
    assert shown(tab) == "norm.x_hat"


@pytest.mark.slow
def test_hostile_names_are_texts(opened: Opened, found: Report) -> None:
    tab = opened(found, f"#/check/{GRADIENT}")
    seen = "</script>\\u{1b}[2J<b>\\u{dc80}\\u{202e}]]>&\"'"
    assert seen in tab.inner_text("[data-unknown]")
    assert seen in tab.inner_text("[data-called]")
    assert tab.locator("main b, main script").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_telephone_in_light_and_dark(theme: str, opened: Opened, found: Report) -> None:
    tab = opened(found)
    tab.emulate_media(color_scheme=theme)
    tab.set_viewport_size({"width": 360, "height": 740})
    assert tab.evaluate("document.documentElement.dataset.theme") == theme
    for address in (f"#/check/{SCORES}", f"#/check/{GRADIENT}", "#/check/norm.out"):
        tab.evaluate("address => { location.hash = address; }", address)
        tab.wait_for_function(SHOWN)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_all_right_is_shown_as_such(opened: Opened) -> None:
    tab = opened(fine())
    assert tab.inner_text("h1").endswith("All that was compared agrees")
    assert shown(tab) == "blocks.1.mlp.out"  # nearest to what rounding explains
    assert tab.locator(".check-map").count() == 0


@pytest.mark.slow
def test_every_word_has_both_languages(blank: Callable[..., Any]) -> None:
    tab = blank("")
    english, chinese = tab.evaluate(
        """async () => {
          const { WORDS } = await import("./check_words.js");
          return [Object.keys(WORDS.en), Object.keys(WORDS.zh)];
        }"""
    )
    assert english == chinese
    assert json.dumps(english).isascii()
