"""The server: what it gives is right to the byte, for many at once, and it gives nothing else."""

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as read_safetensors

from handformer.errors import InputError
from handformer.inspector import files
from handformer.inspector.server import listen
from handformer.inspector.session import Session
from handformer.inspector.shell import shell
from handformer.tracing.api import trace
from handformer.tracing.trace import Trace
from tests.inspector.models import made
from tests.inspector.served import JSON, Answer, answering, ask, post, said

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u2028\u202e\x00"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("trace") / "given.safetensors"
    trace(made("gpt2"), "The cat").save(file)
    return file


@pytest.fixture(scope="module")
def port(path: Path) -> Iterator[int]:
    session = Session("model", HOSTILE, model=made("gpt2", HOSTILE), log=lambda: {"step": [1]})
    session.show(path, HOSTILE)
    with answering(session) as number:
        yield number


def data(port: int, range_: str | None = None, number: str = "1") -> Answer:
    headers = {} if range_ is None else {"Range": range_}
    return ask(port, f"/api/traces/{number}/data", headers=headers)


def test_the_page_is_one_file_with_its_modules(port: int) -> None:
    start = ask(port, "/")
    assert (start.status, start.headers["content-type"]) == (200, "text/html; charset=utf-8")
    whole = shell("handformer")
    assert start.body == whole.html
    assert start.headers["content-security-policy"] == f"{whole.policy}; frame-ancestors 'none'"
    assert "connect-src 'self'" in whole.policy
    assert b'id="boot"' not in start.body
    for name in files.FILES:
        assert ask(port, f"/{name}").status == 404
    assert ask(port, "/", method="HEAD").body == b""


def test_the_page_needs_nothing_that_its_policy_forbids() -> None:
    start = files.read(files.START).decode()
    assert "<style" not in start
    assert "style=" not in start
    assert "http" not in start.replace("http-equiv", "")
    assert start.count("<script") == start.count('<script type="module" src=')


@pytest.mark.parametrize(
    "address",
    [
        "/../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
        "/%2fetc%2fpasswd", "/page/app.js", "/./../server.py", "/server.py", "/../server.py",
        "/%00", "/app.js%00", "/app.js%00.html", "/app.js/", "/C:%5cwindows", "/..%5cserver.py",
        "/.git", "/__init__.py", "/api", "/api/", "/api/traces/", "/api/traces/2",
        "/api/traces/1/", "/api/traces/../1", "/api/traces/%2e%2e%2f1/data",
        "/api/traces/..%2f..%2fetc%2fpasswd/data", "/api/traces/1/data/x",
        "/api/traces/%2fetc%2fpasswd/data", "/api/traces/1%00/data", "/api/traces/-1",
        "/api/traces/1.safetensors/data", "/APP.JS", "/favicon.ico", "/%ff%fe",
        "/api/traces/%3Cscript%3E", "/api/tour/../about",
    ],
)  # fmt: skip
def test_nothing_else_is_served(port: int, address: str) -> None:
    answer = ask(port, address)
    assert answer.status == 404, answer
    assert answer.headers["content-type"] == "application/json"
    assert b"root:" not in answer.body
    assert b"<" not in answer.body


def test_a_link_among_the_pages_files_would_not_be_followed(tmp_path: Path) -> None:
    assert all(name.isascii() and "/" not in name for name in files.FILES)
    folder = Path(files.__file__).parent / "page"
    assert not [file for file in folder.rglob("*") if file.is_symlink()]
    assert {file.name for file in folder.iterdir()} >= {*files.FILES}


def test_only_questions_are_put_to_what_only_answers(port: int) -> None:
    for path in ("/", "/api/about", "/api/traces/1/data"):
        assert post(port, path, {}).status == 405
        assert ask(port, path, method="DELETE").status == 405
    for path in ("/api/run", "/api/generate", "/api/generate/1"):
        assert ask(port, path).status == 405


def test_it_says_what_it_shows_and_names_are_never_markup(port: int) -> None:
    about = ask(port, "/api/about")
    assert about.json == {
        "kind": "model", "title": HOSTILE, "offline": False, "family": "gpt2",
        "can": {"run": True, "generate": True, "log": True},
    }  # fmt: skip
    traces = ask(port, "/api/traces")
    assert traces.json[0] == {"id": "1", "title": HOSTILE}
    for answer in (about, traces, ask(port, "/api/traces/1")):
        assert not {*b"<>&\x00"} & {*answer.body}
    assert ask(port, "/api/log").json == {"step": [1]}
    assert {*ask(port, "/api/tour?lang=zh").json} == {*ask(port, "/api/tour").json}
    for lang in ("fr", "", "%2e%2e", "%3Cscript%3E"):
        assert "expected one of" in ask(port, f"/api/tour?lang={lang}").error


def test_a_trace_can_be_read_by_its_table(port: int, path: Path) -> None:
    told = ask(port, "/api/traces/1").json
    whole = data(port).body
    assert whole == path.read_bytes()
    expected = Trace.load(path)
    assert told["manifest"] == json.loads(expected.manifest.model_dump_json())
    assert len(told["sheets"]) == len(expected.manifest.sheets)
    assert {*told["tensors"]} == {*expected}
    kinds = {"F32": np.float32, "I64": np.int64, "BOOL": np.bool_, "F64": np.float64}
    for name, tensor in told["tensors"].items():
        begin, end = (told["data_start"] + offset for offset in tensor["offsets"])
        part = whole[begin:end]
        if begin < end:
            ranged = data(port, f"bytes={begin}-{end - 1}")
            assert (ranged.status, ranged.body) == (206, part)
            assert ranged.headers["content-range"] == f"bytes {begin}-{end - 1}/{len(whole)}"
        array = np.frombuffer(part, kinds[tensor["dtype"]]).reshape(tensor["shape"])
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("bytes=0-0", slice(0, 1)), ("bytes=5-9", slice(5, 10)), ("bytes=-7", slice(-7, None)),
        ("bytes=10-", slice(10, None)), ("bytes=3-999999999", slice(3, None)),
        ("BYTES=0-3", slice(0, 4)),
    ],
)  # fmt: skip
def test_a_part_of_the_file_is_given(port: int, path: Path, asked: str, part: slice) -> None:
    answer = data(port, asked)
    assert (answer.status, answer.body) == (206, path.read_bytes()[part])
    assert int(answer.headers["content-length"]) == len(answer.body)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("bytes=999999999-", 416), ("bytes=999999999-9999999999", 416), ("bytes=-0", 416),
        ("bytes=9-5", 400), ("bytes=", 400), ("bytes=a-b", 400), ("bytes", 400), ("lines=1-2", 400),
        ("bytes=--5", 416), ("bytes=1.5-2", 400), ("bytes=" + "9" * 5000 + "-", 400),
    ],
)  # fmt: skip
def test_what_is_no_part_is_refused(port: int, asked: str, status: int) -> None:
    answer = data(port, asked)
    assert answer.status == status
    assert len(answer.body) < 200


def test_several_parts_at_once_are_not_more_than_the_file(port: int, path: Path) -> None:
    size = path.stat().st_size
    several = data(port, "bytes=0-9,20-29")
    assert several.status == 206
    assert several.headers["content-type"].startswith("multipart/byteranges")
    for many in ("0-,", "0-9,"):
        answer = data(port, "bytes=" + (many * 500).rstrip(","))
        assert len(answer.body) <= size


def test_a_hundred_readers_each_get_the_right_bytes(port: int, path: Path) -> None:
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    wanted = [sorted(rng.integers(0, len(whole), size=2).tolist()) for _ in range(400)]
    writers = threading.Thread(
        target=lambda: [post(port, "/api/run", {"text": "The"}) for _ in "ab"]
    )
    writers.start()
    ready = threading.Barrier(100)

    def read(number: int) -> None:
        ready.wait()
        for begin, end in wanted[number::100]:
            assert data(port, f"bytes={begin}-{end}").body == whole[begin : end + 1]
        assert data(port).body == whole
        assert {*ask(port, "/api/traces/1").json["tensors"]} == {*read_safetensors(whole)}

    with ThreadPoolExecutor(100) as pool:
        list(pool.map(read, range(100)))
    writers.join()


def test_a_text_is_run_and_its_trace_shown(port: int) -> None:
    answer = post(port, "/api/run", {"text": "The dog"})
    number = answer.json["id"]
    assert answer.status == 200
    assert {"id": number, "title": "The dog"} in ask(port, "/api/traces").json
    told = ask(port, f"/api/traces/{number}").json
    assert told["manifest"]["text"]["tokens"] == [["T", "h", "e", "␣", "d", "o", "g"]]
    found = read_safetensors(data(port, number=number).body)
    expected = trace(made("gpt2", HOSTILE), "The dog")
    np.testing.assert_array_equal(found["loss.loss"], expected["loss.loss"])


def test_a_hostile_text_stays_a_text(port: int) -> None:
    text = HOSTILE[:8]
    number = post(port, "/api/run", {"text": text}).json["id"]
    told = ask(port, f"/api/traces/{number}")
    assert "".join(told.json["manifest"]["text"]["tokens"][0]) == text
    assert ask(port, "/api/traces").json[-1]["title"] == text
    assert b"<" not in told.body


def test_a_model_writes_token_by_token(port: int) -> None:
    question = {"text": "The", "temperature": 0.7, "top_k": 5, "top_p": 0.9, "seed": 3}
    begun = post(port, "/api/generate", question)
    assert [token["text"] for token in begun.json["prompt"]] == ["T", "h", "e"]
    address = f"/api/generate/{begun.json['session']}"
    steps = [post(port, address, {}).json for _ in range(5)]
    expected = made("gpt2", HOSTILE).generate(
        "The", max_tokens=5, seed=3, temperature=0.7, top_k=5, top_p=0.9
    )
    assert steps[-1]["text"] == expected
    assert [step["step"] for step in steps] == [1, 2, 3, 4, 5]
    assert post(port, "/api/generate/nobody", {}).status == 404
    for whole in ({"temperature": 1}, {"temperature": 0, "top_p": 1}):
        assert post(port, "/api/generate", {"text": "The", **whole}).status == 200


@pytest.mark.parametrize(
    ("address", "body", "part"),
    [
        ("run", "", "the request"), ("run", "{", "the request"), ("run", "[]", "the request"),
        ("run", "{}", "text: "), ("run", '{"text": 5}', "text: "), ("run", '{"text": null}', ""),
        ("run", '{"text": "a", "more": 1}', "more: "), ("run", '"The"', "the request"),
        ("run", '{"text": "é"}', "not among"), ("run", '{"text": ""}', "expected at least one"),
        ("run", '{"text": "The", "targets": "c"}', "targets"), ("run", "\xff", "the request"),
        ("run", '{"text": "\\ud800"}', ""), ("run", "[" * 100_000, "the request"),
        ("run", '{"text": "' + "a" * 200_000 + '"}', "text: "),
        ("generate", '{"text": ""}', "at least one character"),
        ("generate", '{"text": "The", "temperature": -1}', "temperature -1"),
        ("generate", '{"text": "The", "temperature": NaN}', ""),
        ("generate", '{"text": "The", "temperature": 1e999}', ""),
        ("generate", '{"text": "The", "temperature": "hot"}', "temperature: "),
        ("generate", '{"text": "The", "top_k": 0}', "top_k 0"),
        ("generate", '{"text": "The", "top_k": 1.5}', "top_k: "),
        ("generate", '{"text": "The", "top_k": "5"}', "top_k: "),
        ("generate", '{"text": "The", "top_p": 2}', "top_p 2"),
        ("generate", '{"text": "The", "seed": -1}', "seed: "),
        ("generate", '{"text": "The", "seed": 9007199254740993}', "seed: "),
        ("generate/1", '{"x": 1}', "x: "),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_answered_in_a_line(
    port: int, address: str, body: str, part: str
) -> None:
    words = body.encode("latin-1") if body == "\xff" else body.encode("utf-8")
    answer = ask(port, f"/api/{address}", method="POST", body=words, headers=JSON)
    assert answer.status == 400, answer
    assert part in answer.error
    assert len(answer.body) < 500


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_form_of_another_site_cannot_ask(port: int, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = ask(port, "/api/run", method="POST", body=b'{"text": "The"}', headers=headers)
    assert answer.status == 415
    assert post(port, "/api/run", {"text": "The"}, host="evil.com").status == 421


def test_a_body_that_is_too_long_is_refused(port: int) -> None:
    words = json.dumps({"text": "a" * (1 << 20)}).encode()
    announced = {**JSON, "Content-Length": str(len(words))}  # what is refused needn't be sent
    assert ask(port, "/api/run", method="POST", headers=announced).status == 413


def test_who_stops_in_the_middle_disturbs_nobody(port: int) -> None:
    own = f"Host: 127.0.0.1:{port}\r\n".encode()
    for words in (b"", b"GET", b"\x16\x03\x01\x00", b"GET /\r\n\r\n", b"A" * 100_000 + b"\r\n\r\n"):
        with_end = words or b"\r\n"
        assert b" 200 " not in said(port, with_end + b"\r\n\r\n")[:20]
    assert b" 200 " in said(port, b"GET / HTTP/1.1\r\nConnection: close\r\n" + own + b"\r\n")[:20]


def test_a_trace_alone_runs_nothing_and_a_changed_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "given.safetensors"
    trace(made("gpt2"), "The").save(path)
    session = Session("trace", "given")
    session.show(path, "given")
    with answering(session) as port:
        assert ask(port, "/api/about").json["can"] == {
            "run": False, "generate": False, "log": False,
        }  # fmt: skip
        assert "inspect a model" in post(port, "/api/run", {"text": "The"}).error
        assert "inspect a model" in post(port, "/api/generate", {"text": "The"}).error
        assert ask(port, "/api/log").status == 404
        trace(made("gpt2"), "cat sees").save(path)
        assert "has changed" in data(port).error
        os.unlink(path)
        assert "no longer there" in data(port, "bytes=0-3").error


def test_a_port_that_is_taken_is_named() -> None:
    with listen(0) as opened:
        port = opened.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} can't be used"):
            listen(port)
        assert opened.getsockname()[0] == "127.0.0.1"
    for port in (-1, 65536):
        with pytest.raises(InputError, match="expected 0"):
            listen(port)
