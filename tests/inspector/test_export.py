"""The page as one file: all of it is in there, nothing breaks out, and it works with no network."""

import base64
import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from handformer.errors import InputError
from handformer.generate.text import TextModel
from handformer.inspector import export, files
from handformer.inspector.export import forecast, page
from handformer.inspector.modules import script
from handformer.inspector.tour import LANGUAGES
from handformer.text import Tokenizer
from handformer.tracing.api import trace
from handformer.tracing.trace import Trace
from tests.inspector.models import made

HOSTILE = (
    '</script></title><!--<script><img src=x onerror="alert(1)">\'&amp;\u2028\u2029\u202e\ud7ff]]>'
)


class Parts(HTMLParser):
    """A page as a browser takes it apart: elements with their attributes and texts."""

    def __init__(self, text: str) -> None:
        """Take apart this text."""
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes), []))
        self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1][2].append(data)

    def named(self, tag: str, **attributes: str) -> list[tuple[dict[str, str | None], str]]:
        return [
            (given, "".join(texts))
            for name, given, texts in self.found
            if name == tag and attributes.items() <= given.items()
        ]


@pytest.fixture(scope="module")
def shown() -> Trace:
    """The trace of a model whose vocabulary and name are hostile."""
    own = made("gpt2", HOSTILE)
    tokenizer = Tokenizer.characters(f"The cat sees dog{HOSTILE}")
    return trace(TextModel(own.model, tokenizer), HOSTILE[:7], name=HOSTILE)


@pytest.fixture(scope="module")
def parts(shown: Trace) -> Parts:
    data = page(shown, title=HOSTILE, log={"samples": [HOSTILE], "loss": float("nan")})
    return Parts(data.decode("utf-8"))


def boot(parts: Parts) -> Any:
    ((_, text),) = parts.named("script", id="boot")
    return json.loads(text)


def test_hostile_texts_stay_texts(parts: Parts) -> None:
    plain = Parts(files.read(files.START).decode())
    elements = [name for name, _, _ in parts.found]
    # The head's links and script have become one style and two scripts.
    expected = [name for name, given, _ in plain.found if given.get("rel") != "stylesheet"]
    assert sorted(elements) == sorted([*expected, "meta", "style", "script"])
    assert parts.named("title") == [({}, HOSTILE)]
    held = boot(parts)
    assert held["about"]["title"] == held["traces"][0]["title"] == HOSTILE
    assert held["log"] == {"samples": [HOSTILE], "loss": "nan"}
    assert held["traces"][0]["manifest"]["name"] == HOSTILE
    ((_, text),) = parts.named("script", id="boot")
    assert text.isascii()
    assert not {*"<>&"} & {*text}


def test_the_file_holds_what_the_server_would_give(
    parts: Parts, shown: Trace, tmp_path: Path
) -> None:
    held = boot(parts)
    assert held["about"]["offline"] is True
    can = {"run": False, "generate": False, "log": True, "check": False}
    assert held["about"]["can"] == can
    assert {*held["tour"]} == {*LANGUAGES}
    (one,) = held["traces"]
    shown.save(tmp_path / "t.safetensors")
    whole = (tmp_path / "t.safetensors").read_bytes()
    assert base64.b64decode(one["data"], validate=True) == whole
    assert {*one["tensors"]} == {*shown}
    for path, tensor in one["tensors"].items():
        begin, end = (one["data_start"] + offset for offset in tensor["offsets"])
        assert whole[begin:end] == shown[path].tobytes()


def test_it_names_nothing_outside_of_itself(parts: Parts) -> None:
    for _, given, _ in parts.found:
        for name in ("src", "href", "action", "srcset"):
            assert given.get(name, "#").startswith(("#", "data:")), given  # type: ignore[union-attr]
        assert not [name for name in given if name.startswith("on") or name == "style"]
    ((_, code),) = parts.named("script", type="module")
    assert code == script("app.js")


def test_its_policy_knows_each_script_by_its_letters_and_lets_nothing_be_fetched(
    parts: Parts,
) -> None:
    (policy,) = (
        given["content"] or ""
        for given, _ in parts.named("meta")
        if given.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'none'"
    assert "frame-src" not in rules
    running = parts.named("script", type="module")
    for kind, texts in (("script-src", running), ("style-src", parts.named("style"))):
        for _, text in texts:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in rules[kind].split()
        assert "unsafe" not in rules[kind]


def test_its_size_is_known_before(shown: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert forecast(shown) == pytest.approx(len(page(shown, title="first")), rel=0.2)
    monkeypatch.setattr(export, "LARGEST", forecast(shown) - 1)
    monkeypatch.setattr(export, "_boot", None)  # nothing is put together
    with pytest.raises(InputError, match=r"about 1 MB, .* --only .* --no-weights"):
        page(shown, title="first")


@pytest.fixture
def opened(tab: Any, shown: Trace, tmp_path: Path) -> Any:
    """The file in a browser that has no network; its title and the model's name are hostile."""
    path = tmp_path / "page.html"
    path.write_bytes(page(shown, title=HOSTILE))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.context.set_offline(True)
    tab.goto(path.as_uri())
    tab.wait_for_selector("main[data-state=ready]")
    yield tab
    assert not [url for url in asked if not url.startswith(("data:", path.as_uri()))]


def test_it_opens_from_a_disk_and_shows_numbers(opened: Any, shown: Trace) -> None:
    assert HOSTILE[:20] in opened.inner_text(".what")
    assert opened.locator("img").count() == 0
    start = opened.url.partition("#")[0]
    for path, place in (
        ("blocks.0.attention.attn", (0, 1, 3, 2)), ("loss.d_logits", (0, 2, 5)), ("tokens", (0, 1)),
    ):  # fmt: skip
        opened.goto(f"{start}#/value/{path}?at={','.join(map(str, place))}")
        stored = opened.wait_for_selector(f"[data-cell-panel='{path}'] [data-stored]")
        assert float(stored.get_attribute("data-stored")) == float(shown[path][place])


def test_it_shows_no_running_but_the_tour(opened: Any) -> None:
    start = opened.url.partition("#")[0]
    opened.goto(f"{start}#/generate")
    opened.wait_for_selector("text=handformer inspect MODEL")
    opened.goto(f"{start}#/tour")
    opened.wait_for_selector("main[data-state=ready] h1")
