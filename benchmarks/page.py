"""How quick the page is: a large trace's first view, the pointer over a large map, a large sum.

    python benchmarks/page.py

It needs Playwright and a Chromium (on the path, or named by CHROMIUM). A frame takes 16.7 ms where
nothing holds it up.
"""

import os
import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import handformer as hand
from handformer.inspector import server
from handformer.inspector.session import Session

ROUNDS = 5
OPTIONS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
# Of half a second's frames, with the pointer elsewhere in each: how many there were in a second.
HOVER = """() => new Promise((done) => {
  const stage = document.querySelector("[data-heat][role=application]");
  const { left, top, width, height } = stage.getBoundingClientRect();
  const began = performance.now();
  let frames = 0;
  const move = () => {
    const passed = performance.now() - began;
    if (passed > 500) return done((frames / passed) * 1000);
    frames += 1;
    const clientX = left + 60 + ((frames * 37) % (width - 80));
    const clientY = top + 60 + ((frames * 23) % (height - 80));
    stage.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));
    requestAnimationFrame(move);
  };
  move();
})"""


def wide(folder: Path) -> Path:
    """A trace of some 50 MB, with attention over 1,024 tokens in it."""
    sizes = {"d_model": 32, "n_layers": 1, "n_heads": 1, "vocab_size": 2048, "context": 1024}
    model = hand.Decoder.init(hand.ModelConfig.read(sizes))
    tokens = np.random.default_rng(0).integers(0, 2048, 1024).tolist()
    path = folder / "wide.safetensors"
    hand.trace(model, tokens=tokens, ops=hand.fast).save(path)
    return path


def vocabulary(folder: Path) -> Path:
    """A trace with a vocabulary of 49,152 entries."""
    config = hand.ModelConfig(vocab_size=49_152, d_model=64, n_heads=1, n_layers=1, context=32)
    path = folder / "vocabulary.safetensors"
    hand.trace(hand.Decoder.init(config), tokens=list(range(32)), ops=hand.fast).save(path)
    return path


def first_view(browser: Any, address: str) -> float:
    """Seconds until the picture stands, in a tab that has nothing in its memory."""
    tab = browser.new_context().new_page()
    began = time.perf_counter()
    tab.goto(address)
    tab.wait_for_selector("#view[data-state=ready]")
    taken = time.perf_counter() - began
    tab.context.close()
    return taken


def measure(browser: Any, port: int, numbers: dict[str, str]) -> None:
    """Print what each takes."""
    address = f"http://127.0.0.1:{port}/"
    views = [first_view(browser, f"{address}#/?t={numbers['wide']}") for _ in range(ROUNDS)]
    print(f"first view           {statistics.median(views):6.2f} s")
    tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    tab.goto(f"{address}#/value/blocks.0.attention.attn?t={numbers['wide']}")
    tab.wait_for_selector("[data-heat][data-window]")
    rates = [tab.evaluate(HOVER) for _ in range(ROUNDS)]
    print(f"hovering 1024 x 1024 {statistics.median(rates):6.0f} frames a second")
    took = []
    for place in range(ROUNDS + 1):
        began = time.perf_counter()
        tab.goto(f"{address}#/value/head.d_x?t={numbers['vocabulary']}&at=0,3,{place}")
        tab.wait_for_selector(f"[data-cell-panel][data-place='0,3,{place}']")
        took.append(time.perf_counter() - began)
    print(f"a sum of 49,152      {statistics.median(took[1:]):6.2f} s, at first {took[0]:.2f} s")


def main() -> None:
    """Make the traces, serve them, and look at them."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)))
    with tempfile.TemporaryDirectory() as name, Session("trace", "large") as session:
        files = {"wide": wide(Path(name)), "vocabulary": vocabulary(Path(name))}
        numbers = {title: session.show(file, title) for title, file in files.items()}
        print(f"trace                {files['wide'].stat().st_size / 1e6:6.0f} MB")
        opened = server.listen(0)
        made = server.server(session, opened)
        thread = threading.Thread(target=made.run, kwargs={"sockets": [opened]})
        thread.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=path, args=[*OPTIONS])
                measure(browser, opened.getsockname()[1], numbers)
                browser.close()
        finally:
            made.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
