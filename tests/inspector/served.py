"""A server that answers in a thread of this process, and questions as anybody could put them."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from handformer.inspector import server
from handformer.inspector.session import Session

JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    """What came back; the names of headers are small letters."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which has to be plain ASCII JSON without anything that isn't a number."""

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is no JSON")

        assert self.headers["content-type"] == "application/json", self
        return json.loads(self.body.decode("ascii"), parse_constant=refuse)

    @property
    def error(self) -> str:
        """What a refusal says."""
        said = self.json["error"]
        assert isinstance(said, str)
        assert "\n" not in said
        return said


@contextmanager
def answering(session: Session) -> Iterator[int]:
    """The port at which a session is served."""
    opened = server.listen(0)
    with _running(server.server(session, opened), opened) as port:
        yield port


@contextmanager
def answering_as(app: ASGIApp, opened: socket.socket) -> Iterator[int]:
    """The port at which another application is."""
    config = uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off")
    with _running(uvicorn.Server(config), opened) as port:
        yield port


@contextmanager
def _running(made: uvicorn.Server, opened: socket.socket) -> Iterator[int]:
    port: int = opened.getsockname()[1]
    thread = threading.Thread(target=made.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        until = time.monotonic() + 30
        while not made.started:
            assert thread.is_alive()
            assert time.monotonic() < until
            time.sleep(0.01)
        yield port
    finally:
        made.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def ask(
    port: int,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    host: str | None = "",
) -> Answer:
    """One question; host "" is the server's own name, None sends none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if host is not None:
            connection.putheader("Host", host or f"127.0.0.1:{port}")
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        reply = connection.getresponse()
        read = reply.read()
        return Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, read)
    finally:
        connection.close()


def post(port: int, path: str, question: Any, **more: Any) -> Answer:
    """A question with a body of JSON, as the page puts it."""
    return ask(port, path, method="POST", body=json.dumps(question).encode(), headers=JSON, **more)


def said(port: int, words: bytes) -> bytes:
    """What a server says to exactly these bytes, until it hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(words)
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
        return b"".join(parts)
