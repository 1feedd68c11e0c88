"""`handformer inspect`: where the page is, how it ends, what can't be shown."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from handformer.cli import inspect
from handformer.inspector.server import listen
from handformer.weights import hugging_face
from tests.cli.typed import typed
from tests.inspector.models import made
from tests.inspector.served import ask, post

Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "first"
    hugging_face.save(folder, made("gpt2").model, made("gpt2").tokenizer)
    return folder


class Served:
    """The command in a process of its own, as a terminal has it."""

    def __init__(self, folder: Path, *words: str | Path) -> None:
        """Start it; its temporary files go into `folder`."""
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        environment = os.environ | {
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(self.temporary),
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "handformer", "inspect", *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=environment,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self.line)
        assert found, (self.line, self.process.communicate())
        self.port = int(found[1])

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal: the exit code, and what it said after its first line."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def served(model: Path, tmp_path: Path) -> Iterator[Served]:
    started = Served(tmp_path, model, "--text", "The cat", "--no-open")
    yield started
    started.process.kill()
    started.process.communicate()


def test_it_says_where_the_page_is_and_ctrl_c_ends_it_quietly(served: Served) -> None:
    assert served.line == f"first is at http://127.0.0.1:{served.port}/ (Ctrl-C ends)\n"
    assert ask(served.port, "/api/traces").json == [{"id": "1", "title": "The cat"}]
    assert ask(served.port, "/").status == 200
    post(served.port, "/api/run", {"text": "dog"})
    (folder,) = served.temporary.glob("handformer-*")
    assert len([*folder.iterdir()]) == 2
    assert served.end(signal.SIGINT) == (0, "", "")
    assert not [*served.temporary.glob("handformer-*")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_leave_nothing_behind(number: int, served: Served) -> None:
    ask(served.port, "/")
    assert served.end(number) == (128 + signal.SIGTERM, "", "")
    assert not [*served.temporary.glob("handformer-*")]


def test_it_ends_at_once_also_in_the_middle_of_answers(served: Served) -> None:
    def ask_for_much() -> None:
        for _ in range(50):
            try:
                if post(served.port, "/api/run", {"text": "The cat"}).status != 200:
                    return
            except OSError:
                return

    threads = [threading.Thread(target=ask_for_much) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    began = time.monotonic()
    code, out, err = served.end(signal.SIGINT)
    assert time.monotonic() - began < 10
    for thread in threads:
        thread.join()
    assert (code, out, err) == (0, "", "")
    assert not [*served.temporary.glob("handformer-*")]


def test_the_port_may_be_chosen_and_a_taken_one_is_named(
    model: Path, tmp_path: Path, capsys: Capsys
) -> None:
    with listen(0) as opened:
        port = opened.getsockname()[1]
        said = typed(capsys, "inspect", model, "--port", str(port), "--no-open")
        assert f"port {port} can't be used" in said.complaint()
    started = Served(tmp_path, model, "--port", str(port), "--no-open")
    try:
        assert started.port == port
        assert json.loads(ask(port, "/api/about").body)["title"] == "first"
    finally:
        started.end(signal.SIGINT)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["none"], "none: no such file or folder"),
        (["{model}/model.safetensors"], "no trace"),
        (["{model}", "--text", "é"], "not among"),
        (["{model}", "--port", "70000"], "port 70000: expected 0"),
        ([], "Missing argument"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    words: list[str], part: str, model: Path, capsys: Capsys
) -> None:
    given = [word.format(model=model) for word in words]
    assert part in typed(capsys, "inspect", *given).complaint()


@pytest.mark.parametrize(
    ("platform", "display", "expected"),
    [
        ("linux", {}, False), ("linux", {"DISPLAY": ":0"}, True), ("darwin", {}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True), ("linux", {"DISPLAY": ""}, False),
    ],
)  # fmt: skip
def test_a_browser_opens_where_there_is_a_display_and_nobody_said_no(
    platform: str,
    display: dict[str, str],
    expected: bool,
    model: Path,
    capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in display.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(webbrowser, "open", opened.append)

    def ended(*_: object, **__: object) -> None:
        time.sleep(0.1)  # the browser is opened in a thread
        raise KeyboardInterrupt

    monkeypatch.setattr("uvicorn.Server.run", ended)
    said = typed(capsys, "inspect", model)
    assert said.code == 0
    assert opened == re.findall(r"http://[^ ]*", said.out) * expected
    opened.clear()
    typed(capsys, "inspect", model, "--no-open")
    assert opened == []


def test_a_name_cannot_write_on_the_terminal() -> None:
    assert inspect._shown("a\n\x1b[2Jb\u202ec 日") == "a??[2Jb?c 日"
