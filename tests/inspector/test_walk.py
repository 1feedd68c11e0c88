"""The page as a reader walks it, in a browser: served, and as one file without a network.

Nothing here knows how the page is built. A step is a click or a key, and what is read afterwards is
held against the trace in Python. Where PICTURES names a folder, what was seen is left there.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import handformer as hand
from handformer.inspector import export
from handformer.inspector.session import Session
from tests.inspector.models import made
from tests.inspector.served import answering

TEXT = "The cat"
# What stands in the address bar is what is shown: not what was there before.
SHOWN = """() => {
  const {state, address} = document.querySelector("#view").dataset;
  return state === "ready" && address === location.hash;
}"""
PATIENCE = 60_000  # milliseconds: a busy machine is no fault of the page

pytestmark = pytest.mark.slow


@dataclass
class Walk:
    """A tab, the trace that it shows, and where it begins."""

    tab: Any
    trace: hand.Trace
    start: str
    offline: bool

    def at(self, address: str) -> None:
        """Go to an address of the page."""
        self.tab.goto(self.start + address)
        self.ready()

    def ready(self) -> None:
        self.tab.wait_for_function(SHOWN, timeout=PATIENCE)

    def until(self, true: Callable[[], bool]) -> None:
        """Wait, as a reader would."""
        end = time.monotonic() + PATIENCE / 1000
        while not true():
            assert time.monotonic() < end
            self.tab.wait_for_timeout(20)

    def cell(self) -> tuple[str, tuple[int, ...], float]:
        """The number that is explained: its path and place, and what the panel says that it is."""
        panel = self.tab.wait_for_selector("[data-cell-panel]", timeout=PATIENCE)
        place = panel.get_attribute("data-place")
        said = panel.query_selector("[data-stored]").get_attribute("data-stored")
        path = panel.get_attribute("data-cell-panel")
        return path, tuple(int(at) for at in place.split(",") if at), float(said)

    def check(self) -> str:
        """The path of the number that is explained, which is Python's."""
        path, place, said = self.cell()
        assert said == float(self.trace[path][place]), (path, place)
        return path

    def picture(self, name: str) -> None:
        """Leave what is seen where CI keeps it."""
        folder = os.environ.get("PICTURES")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            where = "file" if self.offline else "served"
            self.tab.screenshot(path=str(Path(folder) / f"{name}-{where}.png"))


@pytest.fixture(params=["served", "file"])
def walk(request: pytest.FixtureRequest, chromium: Any, tmp_path: Path) -> Iterator[Walk]:
    """The page of a small model and a text; what its console complains about fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    tab, complaints = context.new_page(), list[str]()
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    if request.param == "file":
        trace = hand.trace(made("gpt2"), TEXT)
        file = tmp_path / "page.html"
        file.write_bytes(export.page(trace, title="The cat"))
        context.set_offline(True)
        yield Walk(tab, trace, f"file://{quote(str(file))}", True)
    else:
        with Session("model", "small", model=made("gpt2")) as session:
            number = session.run(TEXT)
            with answering(session) as port:
                trace = session.trace(number).trace
                yield Walk(tab, trace, f"http://127.0.0.1:{port}/", False)
    context.close()
    assert not complaints, "\n".join(complaints)


def test_from_the_picture_to_a_number_and_down_to_an_embedding(walk: Walk) -> None:
    tab = walk.tab
    walk.at("#/")
    walk.picture("1-picture")
    assert tab.locator("[data-part='blocks.1.attention']").count() == 1
    tab.keyboard.press("b")
    tab.wait_for_selector("body[data-direction=back]")
    walk.picture("2-picture-backward")
    tab.keyboard.press("b")
    tab.wait_for_selector("body[data-direction=forward]")

    tab.click("nav a[data-nav=attention]")
    walk.ready()
    stage = tab.wait_for_selector("[data-heat][role=application]")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    tab.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.6)
    assert walk.check().startswith("blocks.0.attention.")
    walk.picture("3-attention")

    # Down from the loss, always to the first parent that isn't a weight, to the last weight.
    walk.at("#/value/loss.loss?at=.")
    passed = [walk.check()]
    while passed[-1] != "embedding.table":
        links = tab.query_selector_all("[data-links=parents] a[data-path]")
        paths = [link.get_attribute("data-path") for link in links]
        values = [n for n, p in enumerate(paths) if walk.trace.entry(p).kind == "value"]
        below = values or [paths.index("embedding.table")]
        links[below[0]].click()
        before = passed[-1]
        walk.until(lambda before=before: walk.cell()[0] != before)  # type: ignore[misc]
        passed.append(walk.check())
        assert len(passed) < 40
    assert {"loss.losses", "head.out", "blocks.1.mid", "embedding.out"} <= {*passed}
    walk.picture("4-embedding-row")
    tab.go_back()
    walk.until(lambda: walk.cell()[0] == passed[-2])  # the address reproduces the view


def test_from_the_loss_backwards(walk: Walk) -> None:
    walk.at("#/value/embedding.d_table?at=3,1&dir=back")
    walk.check()
    assert walk.tab.locator("body").get_attribute("data-direction") == "back"
    walk.picture("5-gradient-of-a-weight")
    walk.at("#/value/loss.loss?at=.")
    assert walk.check() == "loss.loss"


def test_by_keyboard_alone(walk: Walk) -> None:
    tab = walk.tab
    walk.at("#/")
    tab.keyboard.press("/")
    tab.wait_for_selector("#view[data-view=values] input[type=search]:focus")
    tab.keyboard.type("blocks.0.attention.attn")
    tab.wait_for_selector("#view [data-path='blocks.0.attention.attn']")
    link = "document.activeElement.dataset.path === 'blocks.0.attention.attn'"
    for _ in range(20):
        if tab.evaluate(link):
            break
        tab.keyboard.press("Tab")
    assert tab.evaluate(link)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#view[data-view=value][data-state=ready]")
    on_map = "document.activeElement.matches('[data-heat]')"
    for _ in range(60):
        if tab.evaluate(on_map):
            break
        tab.keyboard.press("Tab")
    assert tab.evaluate(on_map)
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        tab.keyboard.press(key)
    assert walk.check() == "blocks.0.attention.attn"
    _, place, _ = walk.cell()
    assert place == (0, 0, 3, 1)
    tab.keyboard.press("Escape")
    tab.wait_for_selector("[data-cell-panel]", state="detached")


def test_another_language(walk: Walk) -> None:
    tab = walk.tab
    walk.at("#/tokens")
    english = tab.inner_text("#view h1")
    tab.select_option("select[data-action=language]", "zh")
    walk.until(lambda: tab.inner_text("#view h1") != english)
    assert re.search(r"[\u4e00-\u9fff]", tab.inner_text("#view h1"))
    assert tab.get_attribute("html", "lang").startswith("zh")
    assert "lang=zh" in tab.url
    walk.picture("6-tokens-in-chinese")
    walk.at("#/tour/identity/scores?lang=zh")
    assert re.search(r"[\u4e00-\u9fff]", tab.inner_text("#view"))


@pytest.mark.parametrize("walk", ["served"], indirect=True)
def test_a_text_is_typed_and_the_model_writes_on(walk: Walk) -> None:
    tab = walk.tab
    walk.at("#/generate")
    tab.fill("#generate-text", "cat sees")
    tab.click("[data-action=run]")
    tab.wait_for_selector("#view[data-view=picture][data-state=ready]")
    strip = tab.inner_text("#view .tokens").split()
    assert strip == [letter if letter != " " else "␣" for letter in "cat sees"]
    walk.at("#/generate")
    tab.fill("#generate-text", "The")
    tab.fill("input[name=temperature]", "0")
    written = []
    for step in (1, 2, 3):
        tab.click("[data-action=next]")
        token = tab.wait_for_selector(f"[data-step='{step}']")
        written.append(token.get_attribute("title"))
    walk.picture("7-generate")
    model = made("gpt2")
    text = model.generate("The", max_tokens=3, temperature=0)
    assert [int(id) for id in written] == model.tokenizer.encode(text).tolist()


def test_it_fits_a_small_screen(walk: Walk) -> None:
    tab = walk.tab
    tab.set_viewport_size({"width": 360, "height": 740})
    for view in ("#/", "#/attention", "#/tokens", "#/values", "#/tour"):
        walk.at(view)
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, view
    walk.at("#/value/blocks.0.attention.attn?at=0,1,3,2")
    walk.check()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    walk.picture("8-small")
