"""The view in which a served model runs and writes, in a browser: its numbers are Python's."""

from collections.abc import Iterator
from typing import Any

import pytest

from handformer.generate.sampling import Sampling
from handformer.inspector.session import Session
from tests.inspector.models import made
from tests.inspector.served import answering

HOSTILE = "<img>&\"'"


@pytest.fixture(scope="module")
def session() -> Session:
    opened = Session("model", "first", model=made("gpt2", HOSTILE))
    opened.run("The cat")
    return opened


@pytest.fixture(scope="module")
def port(session: Session) -> Iterator[int]:
    with answering(session) as number:
        yield number


@pytest.fixture
def view(tab: Any, port: int) -> Any:
    return opened(tab, port)


def opened(tab: Any, port: int) -> Any:
    tab.goto(f"http://127.0.0.1:{port}/#/generate?lang=en")
    tab.wait_for_selector("main[data-state=ready] textarea")
    return tab


def step(tab: Any, number: int) -> None:
    """Wait until so many tokens are there and nothing is under way."""
    tab.wait_for_selector(f".generate:not([aria-busy]) .draw[data-step='{number}']")


def shown(tab: Any, what: str) -> list[float]:
    """The probabilities of the likeliest tokens, whole."""
    cells = tab.locator(f"tbody [data-probability={what}]").all()
    return [float(cell.get_attribute("data-whole")) for cell in cells]


def test_each_step_shows_the_numbers_of_the_draw(view: Any, session: Session) -> None:
    view.fill("textarea", "The")
    view.fill("[name=temperature]", "0.7")
    view.fill("[name=top_k]", "6")
    view.fill("[name=top_p]", "0.6")
    view.fill("[name=seed]", "3")
    own = session.write("The", Sampling(temperature=0.7, top_k=6, top_p=0.6), 3)["session"]
    for number in (1, 2, 3):
        view.click("[data-action=next]")
        step(view, number)
        told = session.write_on(own)
        for what in ("before", "after"):
            assert shown(view, what) == [entry[what] for entry in told["entries"]]
        rows = view.locator("tbody tr").all()
        cuts = [row.get_attribute("data-cut") for row in rows]
        assert cuts == [entry["cut"] for entry in told["entries"]]
        (drawn,) = view.locator("[data-drawn][data-token]").all()
        assert drawn.get_attribute("data-token") == str(told["token"]["id"])
        for stage, count in told["kept"].items():
            assert view.inner_text(f"[data-stage={stage}] strong") == str(count)
        kept = view.locator("[data-kept]")
        assert kept.get_attribute("data-tokens") == str(told["cache"]["tokens"]) == str(2 + number)
        assert kept.get_attribute("data-bytes") == str(told["cache"]["bytes"])
        written = view.locator(".generate-token").all_inner_texts()
        assert "".join(written).replace("␣", " ") == told["text"]


def test_the_address_shows_the_same_again_and_other_settings_begin_anew(
    view: Any, port: int
) -> None:
    view.fill("textarea", "cat")
    view.keyboard.press("Control+Enter")  # by the keyboard alone
    step(view, 1)
    view.click("[data-action=several]")
    step(view, 11)
    before = (view.inner_text(".generate-tokens"), shown(view, "after"))
    other = view.context.new_page()
    other.goto(view.url)
    step(other, 11)
    assert (other.inner_text(".generate-tokens"), shown(other, "after")) == before
    view.select_option("[data-action=language]", "zh")
    view.wait_for_selector("text=下一个词元")
    step(view, 11)
    assert (view.inner_text(".generate-tokens"), shown(view, "after")) == before
    view.fill("[name=seed]", "9")
    view.click("[data-action=next]")
    step(view, 1)
    assert view.locator(".generate-token").count() == 1
    assert "seed=9&steps=1" in view.url


def test_earlier_steps_can_be_looked_at(view: Any) -> None:
    view.fill("textarea", "The")
    view.click("[data-action=next]")
    step(view, 1)
    first = shown(view, "after")
    view.click("[data-action=next]")
    step(view, 2)
    view.click(".generate-token[data-step='1']")
    step(view, 1)
    assert shown(view, "after") == first
    assert view.locator("[data-kept]").get_attribute("data-tokens") == "3"
    view.click("[data-action=next]")
    step(view, 3)


def test_what_is_wrong_is_said_in_its_place(chromium: Any, port: int) -> None:
    view = opened(chromium.new_page(), port)  # a browser writes refusals to its console
    view.fill("textarea", "日")
    view.click("[data-action=next]")
    view.wait_for_selector("[role=alert]:not([hidden])")
    assert "not among" in view.inner_text("[role=alert]:not([hidden])")
    view.fill("textarea", "The")
    view.fill("[name=top_p]", "7")
    view.click("[data-action=next]")
    view.wait_for_selector("text=/Top-p: /")
    view.fill("[name=top_p]", "")
    view.click("[data-action=next]")
    step(view, 1)
    assert view.locator("[role=alert]:not([hidden])").count() == 0
    view.close()


def test_a_hostile_text_is_no_markup(view: Any) -> None:
    view.fill("textarea", HOSTILE)
    view.click("[data-action=next]")
    step(view, 1)
    assert "".join(view.locator(".generate-given").all_inner_texts()) == HOSTILE
    assert view.locator("img").count() == 0


def test_a_text_runs_and_its_trace_is_opened(view: Any, session: Session) -> None:
    before = len(session.traces())
    view.fill("textarea", "dog")
    view.click("[data-action=run]")
    view.wait_for_selector(".view-picture")
    number = session.traces()[-1].number
    assert len(session.traces()) == before + 1
    assert f"t={number}" in view.url
    assert session.traces()[-1].title == "dog"
