"""The picture, the lists and the tokens in a browser: every number is the trace's own."""

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from handformer.inspector import export
from handformer.tracing.api import trace
from handformer.tracing.trace import Trace
from tests.inspector.models import TEXTS, made

# Sums in another order, of as many numbers as a small value has.
CLOSE = 1e-12
# Tall enough for all of a small model: what is far below the window isn't read.
TALL, WIDE, NARROW = 20000, 1280, 360

PRE = ["norm_1", "attention", "norm_2", "mlp"]
POST = ["attention", "norm_1", "mlp", "norm_2"]
CROSS = ["attention", "norm_1", "cross", "norm_2", "mlp", "norm_3"]


def inside(block: str, parts: list[str]) -> list[str]:
    return [f"{block}.{n}{part}" for n in (0, 1) for part in ("", *(f".{one}" for one in parts))]


PARTS = {
    "gpt2": ["embedding", "position_embedding", *inside("blocks", PRE), "norm", "head", "loss"],
    "llama": ["embedding", *inside("blocks", PRE), "norm", "head", "loss"],
    "bert": [
        "embedding", "position_embedding", "type_embedding", "norm",
        *inside("blocks", POST), "head", "loss",
    ],
    "transformer": [
        "source_embedding", "source_positions", *inside("encoder", POST),
        "target_embedding", "target_positions", *inside("decoder", CROSS), "head", "loss",
    ],
}  # fmt: skip
# Two for each block forward, three with cross-attention, and one for the embeddings' sum.
SUMS = {"gpt2": 5, "llama": 4, "bert": 5, "transformer": 12}

Opened = tuple[Any, Trace]
Open = Callable[..., Opened]


@cache
def page(kind: str, title: str) -> tuple[Trace, bytes]:
    seen = trace(made(kind), TEXTS[kind], dtype=np.float64)
    return seen, export.page(seen, title=title)


def until(tab: Any, condition: str) -> None:
    """Wait for a condition; the page's own policy forbids Playwright's way of asking again."""
    end = time.monotonic() + 30
    while not tab.evaluate(condition):
        assert time.monotonic() < end, condition
        tab.wait_for_timeout(20)


@pytest.fixture
def view(tab: Any, tmp_path: Path) -> Open:
    """`view(kind, hash)`: the page of a small model's trace, and the trace."""

    def open_at(kind: str, address: str = "#/", width: int = WIDE, title: str = "T") -> Opened:
        seen, whole = page(kind, title)
        file = tmp_path / "page.html"
        file.write_bytes(whole)
        tab.set_viewport_size({"width": width, "height": TALL})
        tab.goto(f"file://{quote(str(file))}{address}")
        tab.wait_for_selector("#view[data-state=ready]")
        return tab, seen

    return open_at


def flows(tab: Any) -> dict[str, tuple[float, float]]:
    """Size and largest magnitude by path, as the titles say them in full."""
    until(tab, "!document.querySelector('.flow .wait')")
    found = tab.evaluate("""() => [...document.querySelectorAll("[data-flow]")].map((flow) =>
        [flow.dataset.flow, ...["rms", "peak"].map((stat) =>
            flow.querySelector(`[data-stat=${stat}]`)?.title.split(": ")[1] ?? null)])""")
    return {path: (float(rms), float(peak or rms)) for path, rms, peak in found}


def check(tab: Any, seen: Trace) -> int:
    shown = flows(tab)
    for path, (rms, peak) in shown.items():
        array = seen[path].astype(np.float64)
        np.testing.assert_allclose(rms, np.sqrt(np.mean(array**2)), rtol=CLOSE, err_msg=path)
        assert peak == np.abs(array).max(), path
    return len(shown)


@pytest.mark.parametrize("kind", TEXTS)
def test_the_picture_has_every_part_in_its_order_and_shows_what_flows(
    kind: str, view: Open
) -> None:
    tab, seen = view(kind)
    parts = tab.locator("[data-part]").evaluate_all("all => all.map(one => one.dataset.part)")
    assert parts == PARTS[kind]
    assert tab.locator(".node.plus").count() == SUMS[kind]
    many = check(tab, seen)
    tab.keyboard.press("b")
    tab.wait_for_selector("body[data-direction=back]")
    assert check(tab, seen) > many / 2
    assert all(seen.entry(path).kind in {"gradient", "weight_gradient"} for path in flows(tab)), (
        "backward, gradients stand in the places of the values"
    )


def test_backward_there_is_a_plus_where_a_value_was_used_twice(view: Open) -> None:
    tab, _ = view("gpt2", "#/?dir=back")
    sums = tab.locator(".node.plus").evaluate_all("all => all.map(one => one.title)")
    assert sums == [
        one for _ in range(2) for one in ("d_x = d_mid + norm_1.d_x", "d_mid = d_out + norm_2.d_x")
    ]


def test_the_address_says_what_stands_open(view: Open) -> None:
    tab, _ = view("llama", "#/?open=blocks.1,blocks.1.mlp")
    state = "all => all.map(one => [one.dataset.open, one.getAttribute('aria-expanded')])"
    opened = dict(tab.locator("[data-open]").evaluate_all(state))
    assert [path for path, value in opened.items() if value == "true"] == [
        "blocks.1",
        "blocks.1.mlp",
    ]
    assert tab.locator("[data-part='blocks.1.mlp'] math").count() >= 5
    tab.locator("[data-open='blocks.0']").press("Enter")
    assert "open=blocks.1,blocks.1.mlp,blocks.0" in tab.url


def test_keys_reach_everything_and_escape_goes_back_to_the_place(view: Open) -> None:
    tab, _ = view("gpt2")
    tab.focus("[data-open='embedding']")
    for expected in ("position_embedding", "x", "blocks.0", "blocks.0.norm_1"):
        tab.keyboard.press("ArrowDown")
        now = "document.activeElement.dataset.open ?? document.activeElement.dataset.path"
        assert tab.evaluate(now) == expected
    tab.keyboard.press("Enter")
    tab.wait_for_selector("[data-open='blocks.0.norm_1'][aria-expanded=true]")
    tab.keyboard.press("/")
    until(tab, "document.activeElement.type === 'search'")
    tab.keyboard.type("1 d_scores")
    until(tab, "document.querySelectorAll('.result').length === 1")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.dataset.path") == "blocks.1.attention.d_scores"
    tab.keyboard.press("Escape")
    tab.wait_for_selector("[data-open='blocks.0.norm_1'][aria-expanded=true]")
    tab.keyboard.press("?")
    assert tab.locator("#help").get_attribute("open") is not None
    tab.keyboard.press("Escape")
    assert tab.locator("#help").get_attribute("open") is None


def test_the_list_has_every_value_once_with_its_size(view: Open) -> None:
    tab, seen = view("bert", "#/values?kind=all")
    until(tab, f"document.querySelectorAll('.result').length === {len(seen.manifest.values)}")
    listed = tab.locator(".result").evaluate_all("all => all.map(one => one.dataset.path)")
    assert listed == [value.path for value in seen.manifest.values]
    assert check(tab, seen) == len(listed)


def test_tokens_show_losses_chances_and_the_lens(view: Open) -> None:
    tab, seen = view("gpt2", "#/tokens?cell=1,2")
    targets, probs = seen["loss.targets"][0], seen["loss.probs"][0]
    titles = "all => all.map(one => Number(one.title))"
    counted = targets >= 0
    losses = tab.locator("[data-stat=loss]").evaluate_all(titles)
    assert losses == seen["loss.losses"][0][counted].tolist()
    chances = tab.locator("[data-stat=chance]").evaluate_all(titles)
    assert chances == [probs[t, n] for t, n in enumerate(targets) if n >= 0]
    lens, words = seen["lens.tokens"], seen.manifest.vocabulary
    assert words is not None
    cells = tab.locator("table[data-table=lens] td[data-layer]").all_text_contents()
    assert cells == [words[n] for n in lens[:, 0, :, 0].ravel()]
    shown = tab.locator(".chosen ol .token").all_text_contents()
    assert shown == [words[n] for n in lens[1, 0, 2]]
    pulls = view("gpt2", "#/tokens?dir=back")[0].locator("[data-stat=pull]").evaluate_all(titles)
    np.testing.assert_allclose(pulls, np.linalg.norm(seen["d_x"][0], axis=-1), rtol=CLOSE)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "address", ["#/?open=encoder.0.attention,encoder.0", "#/tokens", "#/values"]
)
def test_a_small_screen_never_scrolls_sideways(address: str, language: str, view: Open) -> None:
    join = "&" if "?" in address else "?"
    tab, _ = view("transformer", f"{address}{join}dir=back&lang={language}", width=NARROW)
    tab.wait_for_timeout(100)
    assert tab.evaluate("document.documentElement.scrollWidth") == NARROW
    unnamed = """all => all.filter((one) => !one.ariaLabel && !one.textContent.trim())
        .map((one) => one.outerHTML)"""
    assert tab.locator("a, button").evaluate_all(unnamed) == []


def test_names_are_text_and_nothing_else(view: Open) -> None:
    title = "<img src=x onerror=alert(1)>\"'&"
    tab, _ = view("gpt2", title=title)
    assert tab.locator("header .what").text_content() == title
    assert tab.locator("img").count() == 0


def test_both_languages_have_every_word(blank: Callable[..., Any]) -> None:
    views = (
        "picture",
        "tokens",
        "values",
        "value",
        "attention",
        "generate",
        "run",
        "tour",
        "header",
    )
    missing = blank("<div id='header'></div>").evaluate(
        """async (views) => {
            await Promise.all(views.map((name) => import(`/${name}.js`)));
            return (await import("/words.js")).missing();
        }""",
        [*views],
    )
    assert missing == []
