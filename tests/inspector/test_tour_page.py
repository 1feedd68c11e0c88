"""The tour in a browser: it asks before it tells, and shows where each number comes from."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from handformer.examples import LANGUAGES
from handformer.formula.render import number
from handformer.inspector.tour import PARTS, tour

Blank = Callable[..., Any]

# A shell as small as can be: it mounts the tour, and writes down what the tour asks of it.
SHELL = """async ([language, rest, query]) => {
  const { render } = await import("/tour.js");
  const { setLanguage, t } = await import("/words.js");
  setLanguage(language);
  const main = document.querySelector("main");
  main.replaceChildren();
  window.said = [];
  window.gone = [];
  window.keys = {};
  window.tours ??= {};
  const source = {
    tour: async (one) => (tours[one] ??= await (await fetch(`/tour.json?${one}`)).json()),
  };
  const context = {
    source, language, t,
    announce: (text) => said.push(text),
    keys: (table) => { window.keys = table; },
    go: (to) => gone.push(to),
    href: (view, rest = "", query = {}) => {
      const given = Object.entries(query).filter(([, value]) => value !== null);
      const tail = new URLSearchParams(given).toString();
      return `#/${view}${rest ? `/${rest}` : ""}${tail ? `?${tail}` : ""}`;
    },
  };
  const segments = rest ? rest.split("/") : [];
  await render(main, { view: "tour", rest, segments, query: query ?? {} }, context);
}"""


@pytest.fixture
def show(blank: Blank) -> Callable[..., Any]:
    """`show(rest)`: the tab with a screen of the tour; `change` alters what the page is given."""
    held: dict[str, Any] = {}

    def open_at(
        rest: str = "",
        language: str = "en",
        query: dict[str, str] | None = None,
        change: Callable[[str], str] = str,
    ) -> Any:
        if "tab" not in held:
            given = {one: change(json.dumps(tour(one))) for one in LANGUAGES}

            def answer(request: Any) -> dict[str, Any]:
                return {"body": given[request.url.rpartition("?")[2]]}

            sheets = "".join(f"<link rel='stylesheet' href='/{n}.css'>" for n in ("style", "tour"))
            held["tab"] = blank(f"{sheets}<main class='view-tour'></main>", {"/tour.json": answer})
        held["tab"].evaluate(SHELL, [language, rest, query])
        return held["tab"]

    return open_at


def cells(tab: Any, kind: str) -> list[str]:
    """The marked cells, without those of the table with every digit, which is closed."""
    marked = tab.locator(f"td.{kind}:not(details td)")
    return [str(name) for name in marked.evaluate_all("all => all.map(one => one.dataset.cell)")]


def screens() -> list[str]:
    """Every screen in the order of the tour."""
    examples = tour("en")["examples"]
    return [
        f"{name}/{screen}".rstrip("/")
        for part in PARTS
        for name in part.examples
        for screen in ("", *(step["name"] for step in examples[name]["steps"]), "lesson")
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_overview_leads_to_every_example(show: Any, language: str) -> None:
    tab = show("", language)
    for part in tour(language)["parts"]:
        assert tab.get_by_role("heading", name=part["title"], exact=True).count() == 1
    links = tab.locator("a[data-example]")
    found = links.evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert found == [f"#/tour/{name}" for part in PARTS for name in part.examples]
    assert tour(language)["examples"]["identity"]["title"] in links.first.text_content()


def test_the_words_are_there_in_both_languages(show: Any) -> None:
    assert show().evaluate("async () => (await import('/words.js')).missing()") == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_screen_says_its_words_and_fits_a_small_one(show: Any, language: str) -> None:
    tab = show("", language)
    tab.set_viewport_size({"width": 360, "height": 740})
    examples = tour(language)["examples"]
    for rest in screens():
        show(rest, language)
        name, _, screen = rest.partition("/")
        example = examples[name]
        words = {step["name"]: step["words"] for step in example["steps"]}
        words |= {"": example["words"], "lesson": example["lesson"]}
        shown = tab.locator(".tour-words").text_content()
        assert shown == words[screen].replace("`", ""), rest
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, rest
        assert "tour." not in tab.locator("main").inner_text(), rest


def test_one_screen_leads_to_the_next_by_button_and_key(show: Any) -> None:
    order = screens()
    for before, here, after in zip(order, order[1:], order[2:], strict=False):
        tab = show(here)
        assert tab.locator("[data-action=previous]").get_attribute("href") == f"#/tour/{before}"
        assert tab.locator(".tour-around .primary").get_attribute("href") == f"#/tour/{after}"
        tab.evaluate("keys.ArrowLeft(), keys.ArrowRight()")
        assert tab.evaluate("gone") == [f"#/tour/{before}", f"#/tour/{after}"]
        assert tab.locator(".tour-way [aria-current=step]").count() == 1


def test_it_asks_before_it_tells(show: Any) -> None:
    tab = show("identity/scores")
    card = tab.locator("[data-entry='scores[0,0]']")
    result = tab.locator(".tour-result td[data-cell]")
    assert set(result.all_text_contents()) == {"?"}
    assert "0.7071" not in tab.locator(".tour-step").text_content()
    field = card.get_by_role("textbox")
    for wrong, reply in (("0.5", "Not yet"), ("seven", "A number, please")):
        field.fill(wrong)
        field.press("Enter")
        assert reply in card.get_by_role("status").text_content()
    field.fill("0,707")
    field.press("Enter")
    assert card.locator("output").text_content() == "0.7071"
    assert "0.7071067811865475" in card.text_content()
    assert tab.evaluate("document.activeElement.localName") == "output"
    assert tab.evaluate("said") == ["Right. scores[0,0] is 0.7071"]
    assert result.all_text_contents()[:4] == ["0.7071", "?", "?", "?"]


def test_what_was_shown_stays_so_in_another_language(show: Any) -> None:
    tab = show("identity/scores")
    assert tab.evaluate("keys.r()") is True
    assert tab.locator("output").count() == 1
    show("identity/scores", "zh")
    assert tab.locator("output").text_content() == "0.7071"
    tab.evaluate("keys.r(), keys.r()")
    assert tab.locator("td.unseen").count() == 0
    assert tab.locator("[data-action=show-all]").count() == 0
    show("")
    assert "1 of 9" in tab.locator("[data-example=identity]").text_content()


def test_every_number_is_there_whole(show: Any) -> None:
    for name, example in tour("en")["examples"].items():
        for step in example["steps"]:
            tab = show(f"{name}/{step['name']}")
            read = tab.evaluate(
                """() => {
                  while (document.querySelector("[data-action=show-all]")) {
                    keys.r();
                  }
                  const cells = [...document.querySelectorAll("td[data-cell]")];
                  const whole = (one) => one.closest("details") ? one.textContent : one.title;
                  return cells.map((one) => [one.dataset.cell, whole(one) || one.textContent]);
                }"""
            )
            texts = [(cell, text.replace("−", "-")) for cell, text in read]
            for array in (step["name"], *(one["name"] for one in step["reads"])):
                for place, value in places(example["arrays"][array]["value"]):
                    cell = f"{array}[{','.join(map(str, place))}]" if place else array
                    found = [text for one, text in texts if one == cell]
                    assert found, (name, cell)
                    assert all(same(text, value) for text in found), (name, cell)


def places(value: Any, at: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    if not isinstance(value, list):
        return [(at, value)]
    return [found for i, part in enumerate(value) for found in places(part, (*at, i))]


def same(text: str, value: Any) -> bool:
    return text == number(value) if isinstance(value, bool) else float(text) == float(value)


def test_an_entry_of_the_formula_shows_the_cell_that_it_comes_from(show: Any) -> None:
    tab = show("identity/attn")
    assert cells(tab, "from") == ["scores[0,0]", "top[0]", "total[0]", "attn[0,0]"]
    link = tab.locator("[data-entry='attn[0,1]'] a").first
    link.focus()
    assert cells(tab, "here") == ["scores[0,1]"]
    assert cells(tab, "from")[-1] == "attn[0,1]"
    assert link.get_attribute("aria-label").startswith("scores[0,1] = 0")
    assert link.get_attribute("href") == "#/tour/identity/scores?of=scores&at=0%2C1"
    link.evaluate("one => one.blur()")
    assert cells(tab, "here") == []
    tab.locator("[data-entry='attn[0,0]'] a").nth(2).hover()
    assert cells(tab, "here") == ["total[0]"]


def test_a_link_leads_to_its_cell(show: Any) -> None:
    tab = show("identity/scores", query={"of": "scores", "at": "0,1"})
    assert cells(tab, "here") == ["scores[0,1]"]
    tab = show("identity", query={"of": "w_q", "at": "1,0"})
    assert cells(tab, "here") == ["w_q[1,0]"]


def test_a_formula_s_own_number_is_not_rounded(show: Any) -> None:
    tab = show("gelu/inner")
    tab.evaluate("keys.r()")
    assert tab.locator(".tour-entry").text_content().count("0.044715") == 2


def test_a_long_sum_breaks_between_its_terms(show: Any) -> None:
    tab = show("two-heads/out")
    side = tab.locator("[data-entry='out[0,0]'] .tour-math").nth(1)
    assert side.locator(":scope > math").count() == 4
    assert side.locator("a").count() == 8


def test_the_words_of_a_formula_are_in_the_language(show: Any) -> None:
    assert "否则" in show("causal-mask/attn", "zh").locator(".tour-told math").last.text_content()
    assert "otherwise" in show("causal-mask/attn").locator(".tour-told math").last.text_content()


def test_texts_are_never_markup(show: Any) -> None:
    evil = "<img src=x onerror=alert(1)>"
    tab = show("identity", change=lambda text: text.replace("Attention lets", f"{evil} lets"))
    assert tab.locator("main img").count() == 0
    assert tab.locator(".tour-words").text_content().startswith(f"{evil} lets")


def test_an_unknown_step_is_an_error_that_names_it(show: Any, tab: Any) -> None:
    with pytest.raises(Exception, match="identity/sscores"):
        show("identity/sscores")


@pytest.mark.parametrize(
    ("text", "value", "right"),
    [
        ("0.7071", 0.7071067811865475, True),
        ("0,707", 0.7071067811865475, True),
        ("0.7", 0.7071067811865475, False),
        ("-0.7071", 0.7071067811865475, False),
        ("2/3", 2 / 3, True),
        ("−1 / 4", -0.25, True),
        ("0", 0, True),
        ("0.001", 0, False),
        ("1e-3", 0.001, True),
        ("-inf", "-inf", True),
        ("inf", "-inf", False),
        ("-∞", "-inf", True),
        ("true", True, True),
        ("真", True, True),
        ("1", True, False),
        ("false", True, False),
        ("", 0, None),
        ("1/0", 0, None),
        ("1/2/3", 0, None),
        ("0x10", 16, None),
        ("alert(1)", 0, None),
    ],
)
def test_a_number_is_read_as_people_write_it(
    blank: Blank, text: str, value: Any, right: bool | None
) -> None:
    found = blank().evaluate(
        """async ([text, value]) => {
          const { readNumber, isRight } = await import("/tour_paper.js");
          const given = readNumber(text);
          return given === null ? null : isRight(given, value);
        }""",
        [text, value],
    )
    assert found is right
