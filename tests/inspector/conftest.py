"""A browser for the page's tests, and a place on the web that only exists inside of it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import handformer.inspector

PAGE = Path(handformer.inspector.__file__).parent / "page"
SITE = "http://handformer.test"
TYPES = {
    ".js": "text/javascript",
    ".html": "text/html",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
# No service of the browser's own may reach for a network that isn't there.
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def find_chromium() -> str | None:
    """The browser that CHROMIUM names, or the first that is on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A running Chromium; the tests that need it are skipped where there is none."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install '.[dev]'"
    )
    path = find_chromium()
    if path is None:
        pytest.skip("needs Chromium: put it on the path or name it in CHROMIUM")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*OPTIONS])
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """What went wrong in the tab; a test that expects it empties the list."""
    return []


@pytest.fixture
def tab(chromium: Any, complaints: list[str]) -> Iterator[Any]:
    """A fresh tab; what goes wrong in it, or is an error in its console, fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type == "error" else None,
    )
    yield page
    context.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def blank(tab: Any) -> Callable[..., Any]:
    """`blank(body)`: the tab on an empty page beside the page's own modules.

    `answers` are further texts or bytes by path, or functions of the request that give what
    Playwright's `fulfill` takes.
    """

    def open_at(body: str = "", answers: dict[str, Any] | None = None) -> Any:
        def answer(route: Any, request: Any) -> None:
            name = request.url.removeprefix(SITE).partition("?")[0]
            given = (answers or {}).get(name)
            if callable(given):
                route.fulfill(**given(request))
            elif given is not None:
                route.fulfill(body=given, content_type="application/json")
            elif name == "/":
                head = "<!doctype html><meta charset='utf-8'><link rel='icon' href='data:,'>"
                route.fulfill(body=f"{head}<body>{body}</body>", content_type="text/html")
            else:
                file = PAGE / name.removeprefix("/")
                route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])

        tab.route(f"{SITE}/**", answer)
        tab.goto(f"{SITE}/")
        return tab

    return open_at
