"""The map of a value in the browser: its address says what is seen, and it keeps up with a hand."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handformer.inspector.session import Session
from tests.inspector.served import answering
from tests.tracing.small import traced

MAP = ".chart > .heat > [data-heat]"
LIMIT = ("[data-limit]", "data-limit")
SIZE = 1024

# Counts what is drawn on the map itself, beneath the cursor's canvas.
COUNT = """() => {
  const base = document.querySelector(".heat-base").getContext("2d");
  globalThis.drawn = 0;
  for (const name of ["clearRect", "drawImage", "fillRect", "fillText", "putImageData", "stroke"]) {
    const real = base[name].bind(base);
    base[name] = (...given) => { globalThis.drawn += 1; return real(...given); };
  }
}"""


@pytest.fixture
def page(tmp_path: Path, tab: Any) -> Iterator[Callable[[str], Any]]:
    """`page("#/value/...")`: the tab on this address of a server that shows a small trace."""
    traced("gpt2").save(tmp_path / "small.safetensors")
    with Session("trace", "small") as session:
        session.show(tmp_path / "small.safetensors", "small")
        with answering(session) as port:

            def at(address: str) -> Any:
                tab.goto(f"http://127.0.0.1:{port}/{address}")
                tab.wait_for_selector("main[data-state=ready]")
                return tab

            yield at


def test_the_address_reproduces_the_view(page: Callable[[str], Any]) -> None:
    tab = page("#/value/embedding.table")
    tab.locator(MAP).focus()
    for key in ("+", "+", "["):
        tab.keyboard.press(key)
    tab.wait_for_url(re.compile("(?=.*win=).*limit="))
    look = lambda: [tab.get_attribute(*what) for what in ((MAP, "data-window"), LIMIT)]  # noqa: E731
    seen = look()
    tab.reload()
    tab.wait_for_selector(f"{MAP}[data-window]")
    assert look() == seen


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("#/value/blocks.0.attention.scores?side=both&pos=b1,h2", "[data-chart] >> nth=1"),
        ("#/value/blocks.0.attention.scores?rows=s&cols=t&at=0,1,3,2", "[data-place='0,1,3,2']"),
        ("#/attention/blocks.1.attention?dir=back&show=d_scores", "[data-many=h2]"),
        ("#/value/blocks.0.mlp.d_w_up?at=3,5&digits=all&dir=back", "[data-action=digits]:checked"),
        ("#/value/loss.loss?at=9,9", "[data-chart='loss.loss']"),  # no such place: the value alone
    ],
)
def test_an_address_alone_is_enough(page: Callable[[str], Any], address: str, kept: str) -> None:
    tab = page(address)
    tab.wait_for_selector(kept)
    assert (tab.locator("[data-cell-panel]").count() > 0) == (
        "at=" in address and "9,9" not in address
    )


def test_hovering_draws_nothing_but_the_cursor(blank: Callable[..., Any]) -> None:
    tab = blank("<main></main>")
    tab.evaluate(
        """async (size) => {
          const { Heat } = await import("./heat.js");
          const { makeScale } = await import("./colours.js");
          const numbers = Float32Array.from({ length: size * size }, (_, at) => Math.sin(at * 0.7));
          const steps = { start: 0, rowStep: size, columnStep: 1 };
          const plane = { data: numbers, rows: size, columns: size, ...steps };
          const describe = (row, column) => `${row} ${column} ${numbers[row * size + column]}`;
          const help = { role: "map", keys: "" };
          const heat = new Heat({ label: "map", help, on: { describe } });
          document.querySelector("main").append(heat.element);
          const sheet = document.createElement("link");
          Object.assign(sheet, { rel: "stylesheet", href: "./value.css" });
          document.head.append(sheet);
          await new Promise((done) => (sheet.onload = done));
          const axis = (letter) => ({ letter, size, text: null });
          const scale = makeScale("diverging", 1, false);
          heat.show({ plane, mask: null, scale, rows: axis("t"), columns: axis("s"), key: "" });
        }""",
        SIZE,
    )
    tab.evaluate(COUNT)
    box = tab.locator("[data-heat]").bounding_box()
    said = set()
    for step in range(1, 6):
        tab.mouse.move(box["x"] + 80 + 60 * step, box["y"] + 80 + 40 * step)
        tab.wait_for_timeout(40)
        said.add(tab.inner_text("[data-readout]"))
    assert len(said) == 5
    assert tab.evaluate("globalThis.drawn") == 0
    tab.locator("[data-heat]").focus()
    tab.keyboard.press("+")
    tab.wait_for_timeout(100)
    assert tab.evaluate("globalThis.drawn") > 0
