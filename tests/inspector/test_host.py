"""Who may ask, and how much: names, origins, headers, bodies."""

import time
from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from handformer.inspector.host import HEADERS, Guard
from handformer.inspector.limits import Limits
from handformer.inspector.server import listen
from tests.inspector.served import Answer, answering_as, ask, said


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that says how much it got."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{len(body)} bytes")(scope, receive, send)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    opened = listen(0)
    guarded = Guard(Limits(echo, most=1000, seconds=0.5), opened.getsockname()[1])
    with answering_as(guarded, opened) as number:
        yield number


def asked(port: int, path: str = "/", method: str = "GET", **headers: str) -> Answer:
    body = b"{}" if method == "POST" else None
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(port, path, method=method, body=body, headers=named)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LocalHost"])
def test_it_answers_to_its_own_names(port: int, name: str) -> None:
    assert ask(port, "/", host=f"{name}:{port}").status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.com", "evil.com:{port}", "127.0.0.1.evil.com:{port}", "localhost.evil.com:{port}",
        "127.0.0.1", "localhost", "127.0.0.1:80", "127.0.0.1:{port}1", "127.0.0.1:", "localhost.",
        "127.1:{port}", "0.0.0.0:{port}", "2130706433:{port}", "[::ffff:127.0.0.1]:{port}",
        "evil.com@127.0.0.1:{port}", "127.0.0.1:{port}@evil.com", "127.0.0.1:{port}, evil.com", " ",
    ],
)  # fmt: skip
def test_it_answers_to_no_other_name(port: int, host: str) -> None:
    refused = ask(port, "/api/about", host=host.format(port=port))
    assert (refused.status, refused.headers["content-security-policy"]) == (
        421, "default-src 'none'; frame-ancestors 'none'",
    )  # fmt: skip
    assert b"evil" not in refused.body


def test_two_names_or_none_are_refused(port: int) -> None:
    none = said(port, b"GET / HTTP/1.0\r\n\r\n")
    assert b" 421 " in none.splitlines()[0]
    own = f"Host: 127.0.0.1:{port}\r\n".encode()
    two = said(port, b"GET / HTTP/1.1\r\nConnection: close\r\n" + own + own + b"\r\n")
    assert two.splitlines()[0].split()[1] in {b"400", b"421"}


def test_a_name_in_the_address_line_counts_for_nothing(port: int) -> None:
    own = f"Host: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
    answer = said(port, b"GET http://evil.com/api/about HTTP/1.1\r\n" + own)
    assert b"evil" not in answer


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "DELETE"])
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.com", "null", "http://127.0.0.1", "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}.evil.com", "http://127.0.0.1:1", "http://localhost:{port}/", "",
    ],
)  # fmt: skip
def test_no_other_pages_questions_are_answered(port: int, origin: str, method: str) -> None:
    assert asked(port, "/", method, Origin=origin.format(port=port)).status == 403


def test_two_origins_are_none_of_ours(port: int) -> None:
    own = f"127.0.0.1:{port}"
    lines = [f"Host: {own}", f"Origin: http://{own}", "Origin: http://evil.com"]
    answer = said(port, "\r\n".join(["GET / HTTP/1.0", *lines, "", ""]).encode())
    assert b" 403 " in answer.splitlines()[0]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_its_own_pages_questions_are_answered(port: int, name: str) -> None:
    own = asked(port, "/", "POST", Origin=f"http://{name}:{port}", Sec_Fetch_Site="same-origin")
    assert (own.status, own.body) == (200, b"2 bytes")


def test_what_another_site_makes_a_browser_fetch_is_refused_but_a_link_leads_here(
    port: int,
) -> None:
    for site in ("cross-site", "same-site"):
        assert asked(port, "/api/about", Sec_Fetch_Site=site).status == 403
        assert asked(port, "/", "POST", Sec_Fetch_Site=site).status == 403
        assert asked(port, "/", Sec_Fetch_Site=site).status == 200
    assert asked(port, "/api/about", Sec_Fetch_Site="none").status == 200


def test_every_answer_has_the_headers(port: int) -> None:
    answers = [
        asked(port), asked(port, "/api/x"), asked(port, "/", "POST", Origin="http://evil.com"),
        ask(port, "/", method="POST", body=b"a" * 1001),
    ]  # fmt: skip
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert "access-control-allow-origin" not in answer.headers
    assert [answer.headers["cache-control"] for answer in answers[:2]] == ["no-cache", "no-store"]


def test_a_body_has_a_largest_size(port: int) -> None:
    assert ask(port, "/", method="POST", body=b"a" * 1000).body == b"1000 bytes"
    assert ask(port, "/", method="POST", body=b"a" * 1001).status == 413
    assert ask(port, "/", body=b"a" * 1001).status == 413


def head(port: int, *lines: str) -> bytes:
    return "\r\n".join(["POST / HTTP/1.1", f"Host: 127.0.0.1:{port}", *lines, "", ""]).encode()


def test_a_long_body_is_refused_before_it_comes_and_also_where_no_header_tells_of_it(
    port: int,
) -> None:
    promised = said(port, head(port, "Content-Length: 99999999999999999999"))
    assert b" 413 " in promised.splitlines()[0]
    piece = b"190\r\n" + b"a" * 400 + b"\r\n"
    chunked = head(port, "Transfer-Encoding: chunked", "Connection: close")
    assert b"800 bytes" in said(port, chunked + piece * 2 + b"0\r\n\r\n")
    endless = said(port, head(port, "Transfer-Encoding: chunked") + piece * 3)
    assert b" 413 " in endless.splitlines()[0]


def test_a_body_that_does_not_come_is_not_waited_for(port: int) -> None:
    began = time.monotonic()
    answer = said(port, head(port, "Content-Length: 10") + b"12345")
    assert b" 408 " in answer.splitlines()[0]
    assert time.monotonic() - began < 10
