"""The view of a run: its numbers are the log's, by pointer, by keyboard and as a table."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.inspector.test_runs import HOSTILE

NAMES = ["embedding", "blocks.0", "blocks.1", HOSTILE]
BODY = """
<link rel="stylesheet" href="/style.css"><link rel="stylesheet" href="/run.css">
<main id="view"></main>
"""
START = """
async ([log, language]) => {
  const { render } = await import("/run.js");
  const { t, setLanguage } = await import("/words.js");
  setLanguage(language);
  window.said = [];
  window.log = log;
  const source = { about: { offline: false, can: { log: true } }, log: async () => window.log };
  window.controller = new AbortController();
  const context = { source, t, announce: (text) => said.push(text), signal: controller.signal };
  await render(document.getElementById("view"), {}, context);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}
"""
Open = Callable[..., Any]


def told(count: int = 12) -> dict[str, Any]:
    """A log as `runs.log` gives it, with numbers that differ."""
    step = [10 * n + 1 for n in range(count)]
    norms = [
        [0.5 + n, 0.01 * (n + 1), 0.1 / (n + 1), None if n == 2 else 3.0] for n in range(count)
    ]
    return {
        "title": HOSTILE,
        "step": step[-1] if step else 0,
        "config": {
            "model": {"family": "gpt2", "n_layers": 2, "n_heads": 2, "d_model": 16, "context": 8},
            "data": {"path": HOSTILE},
            "train": {"steps": 200, "clip": 1.0},
        },
        "training": {
            "step": step,
            "loss": [4.123456 / (n + 1) for n in range(count)],
            "lr": [0.001 * n for n in range(count)],
            "gradient_norm": [None if n == 3 else 1.5 + n for n in range(count)],
            "tokens_per_second": [100 + n for n in range(count)],
        },
        "parts": {"names": NAMES, "step": step, "norms": norms},
        "validation": {
            "step": step[5::6],
            "loss": [2.5 - 0.25 * n for n, _ in enumerate(step[5::6])],
        },
        "samples": [{"step": at, "text": f"{HOSTILE} {at}"} for at in (20, 40, 60, 80)],
    }


@pytest.fixture
def shown(blank: Callable[..., Any]) -> Open:
    def open_at(log: dict[str, Any] | None = None, language: str = "en", width: int = 1000) -> Any:
        tab = blank(BODY)
        tab.set_viewport_size({"width": width, "height": 900})
        tab.evaluate(START, [log or told(), language])
        return tab

    return open_at


def values(tab: Any, plot: str) -> dict[str, str]:
    """The whole numbers that a plot's legend tells, by series."""
    items = tab.locator(f"[data-plot={plot}] [data-series]")
    return {
        item.get_attribute("data-series"): item.locator(".run-value").get_attribute("title")
        for item in items.all()
    }


def test_the_arrow_keys_read_the_numbers_of_the_log(shown: Open) -> None:
    tab, log = shown(), told()
    loss = tab.locator("[data-plot=loss] svg")
    assert "from 4.123 at update 1 to 0.3436 at update 111" in loss.get_attribute("aria-label")
    assert float(values(tab, "loss")["training, one batch"]) == log["training"]["loss"][-1]
    loss.focus()
    loss.press("Home")
    assert float(values(tab, "loss")["training, one batch"]) == log["training"]["loss"][0]
    for _ in range(5):
        loss.press("ArrowRight")
    found = values(tab, "loss")
    assert float(found["training, one batch"]) == log["training"]["loss"][5]
    assert float(found["validation"]) == 2.5
    assert tab.evaluate("said.at(-1)") == "update 51, training, one batch 0.6872, validation 2.5"
    loss.press("ArrowLeft")
    assert float(values(tab, "loss")["training, one batch"]) == log["training"]["loss"][4]
    loss.press("Shift+ArrowRight")
    assert float(values(tab, "loss")["training, one batch"]) == log["training"]["loss"][-1]


def test_the_pointer_reads_the_nearest_update(shown: Open) -> None:
    tab, log = shown(), told()
    tab.locator("[data-plot=norm] svg").scroll_into_view_if_needed()
    box = tab.locator("[data-plot=norm] svg").bounding_box()
    tab.mouse.move(box["x"] + 60, box["y"] + 50)
    assert float(values(tab, "norm")["all weights"]) == log["training"]["gradient_norm"][0]
    tab.mouse.move(box["x"] + box["width"] - 20, box["y"] + 50)
    assert float(values(tab, "norm")["all weights"]) == log["training"]["gradient_norm"][-1]
    assert "clipped to 1" in tab.locator("[data-plot=norm]").text_content()


def test_a_curve_has_a_gap_where_there_is_no_number(shown: Open) -> None:
    tab = shown()
    lines = tab.locator("[data-plot=norm] .run-series path").get_attribute("d")
    assert lines.count("M") == 2
    assert lines.count("L") == 9


def test_the_scale_can_be_turned(shown: Open) -> None:
    tab = shown()
    button = tab.locator("[data-plot=loss] [data-action=logarithmic]")
    before = tab.locator("[data-plot=loss] .run-series path").first.get_attribute("d")
    assert button.get_attribute("aria-pressed") == "false"
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert tab.locator("[data-plot=loss] .run-series path").first.get_attribute("d") != before


def test_the_map_tells_every_norm(shown: Open) -> None:
    tab, log = shown(), told()
    canvas = tab.locator("[data-plot=map] canvas")
    where = tab.locator("[data-plot=map] .run-where")
    canvas.focus()
    canvas.press("Home")
    for row, name in enumerate(NAMES):
        canvas.press("Home")
        for column in range(4):
            norm = log["parts"]["norms"][column][row]
            expected = "–" if norm is None else f"{norm:.4g}"
            assert where.text_content() == f"update {10 * column + 1}, {name}: {expected}"
            assert where.get_attribute("title") in {"", str(norm), f"{norm:.0f}" if norm else ""}
            canvas.press("ArrowRight")
        canvas.press("ArrowDown")
    size = tab.evaluate("(c => [c.width, c.height])(document.querySelector('.run-map'))")
    assert size == [12, 4]


def test_the_table_holds_all_numbers(shown: Open) -> None:
    tab, log = shown(), told()
    tab.locator("[data-table=run] summary").click()
    rows = tab.locator("[data-table=run] tbody tr")
    assert rows.count() == 12
    cells = tab.locator("[data-step='11'][data-step] td").all()
    whole = [cell.get_attribute("title") for cell in cells]
    assert [float(text) if text else None for text in whole] == [
        log["training"]["loss"][1], None, 0.001, 2.5, 101, *log["parts"]["norms"][1],
    ]  # fmt: skip
    heads = tab.locator("[data-table=run] thead th").all_text_contents()
    assert heads[-4:] == NAMES


def test_hostile_texts_stay_texts(shown: Open) -> None:
    tab = shown()
    assert tab.locator("#view img, #view script").count() == 0
    assert tab.locator("[data-samples] pre").first.text_content() == f"{HOSTILE} 80"
    assert HOSTILE in tab.locator(".run-lead").text_content()
    tab.locator("[data-settings] summary").click()
    assert HOSTILE in tab.locator("[data-settings]").text_content()


def test_reading_the_log_again_shows_what_came_since(shown: Open) -> None:
    tab = shown(told(3))
    assert "21 of 200 updates" in tab.locator(".run-lead").text_content()
    tab.evaluate("(log) => { window.log = log; }", told(12))
    tab.locator("[data-action=refresh]").click()
    tab.wait_for_function("said.length > 0")
    assert "111 of 200 updates" in tab.locator(".run-lead").text_content()
    assert float(values(tab, "loss")["training, one batch"]) == told()["training"]["loss"][-1]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [1000, 360])
def test_it_fits_and_has_all_its_words(language: str, width: int, shown: Open) -> None:
    tab = shown(language=language, width=width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    wide = tab.evaluate("document.querySelector('.run-map').getBoundingClientRect().right")
    assert wide <= width
    assert tab.locator(".run-map").bounding_box()["width"] > width / 2
    text = tab.locator("#view").inner_text()
    assert "run." not in text
    assert ("训练" in text) == (language == "zh")
    missing = "import('/words.js').then((words) => words.missing().filter((k) => /^run/.test(k)))"
    assert tab.evaluate(missing) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parts": {"names": [], "step": [], "norms": []}}, "written before the parts' norms"),
        ({"samples": []}, "No sample is written yet"),
        (told(0), "Nothing is logged yet"),
    ],
)
def test_what_is_not_there_is_said(change: dict[str, Any], said: str, shown: Open) -> None:
    tab = shown({**told(), **change})
    assert said in tab.locator("#view").inner_text()


def test_numbers_of_every_size_have_ticks(blank: Callable[..., Any]) -> None:
    tab = blank()
    ticks = tab.evaluate(
        """async () => {
          const { makeScale, nearest } = await import("/run_scale.js");
          const of = (xs, options) => makeScale(xs, options).ticks;
          return [
            of([0, 100]), of([0.001, 0.0034]), of([1, 1000], { logarithmic: true }),
            of([2, 3], { logarithmic: true }), of([1e-9, 1e9], { logarithmic: true }), of([5, 5]),
            of([]),
            [nearest([1, 5, 9], 6.9), nearest([1, 5, 9], 7.1), nearest([], 1), nearest([4], 9)],
          ];
        }"""
    )
    assert ticks[0] == [0, 20, 40, 60, 80, 100]
    assert ticks[1] == [0.001, 0.0015, 0.002, 0.0025, 0.003]
    assert ticks[2] == [1, 10, 100, 1000]
    assert ticks[3] == [2, 3] or len(ticks[3]) >= 3
    assert ticks[4] == [1e-8, 1e-4, 1, 1e4, 1e8]
    assert len(ticks[5]) >= 2
    assert len(ticks[6]) >= 2
    assert ticks[7] == [1, 2, -1, 0]
