"""How much may be asked: a body is read whole before anybody sees it, up to a size and a time.

The size counts what arrives, not what a header promises: a body in pieces has no header for it.
"""

import asyncio

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BYTES = 1 << 20
SECONDS = 10.0


class Limits:
    """Refuses with 413 what is too long, and with 408 what takes too long to arrive."""

    def __init__(self, app: ASGIApp, most: int = BYTES, seconds: float = SECONDS) -> None:
        """Let pass bodies of up to `most` bytes that arrive within so many seconds."""
        self._app, self._most, self._seconds = app, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        read = await self._read(receive, _promised(scope))
        if read is None:
            return
        if isinstance(read, Response):
            read.headers["connection"] = "close"  # what is still on its way isn't read
            await read(scope, receive, send)
            return
        await self._app(scope, _again(read, receive), send)

    async def _read(self, receive: Receive, promised: int) -> bytes | Response | None:
        """The body, or the answer that refuses it, or nothing where the other side has left."""
        too_long = PlainTextResponse(f"A request has at most {self._most} bytes.\n", 413)
        if promised > self._most:
            return too_long
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._most:
                        return too_long
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            return PlainTextResponse("The request did not arrive in time.\n", 408)


def _promised(scope: Scope) -> int:
    """The length that the headers tell; 0 where they tell none that can be read."""
    for name, value in scope["headers"]:
        if name.lower() == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


def _again(body: bytes, receive: Receive) -> Receive:
    """What gives the body that has been read already, once, and then what the other side does."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return unread.pop() if unread else await receive()

    return received
