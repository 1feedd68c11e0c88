"""Who may ask: only pages of this server itself, at its own names on the loopback interface.

Any page in a browser can send requests to 127.0.0.1, and a foreign name can be made to lead there
(DNS rebinding). So the name that was asked for, and where the question comes from, have to be ours.
What is answered carries headers that keep the page to itself: it loads nothing from elsewhere, runs
nothing that stands in its text, and nobody else can frame or read it.
"""

from collections.abc import Iterable

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost", "[::1]")
_HTTP = 80  # the port that browsers leave out

POLICY = "content-security-policy"
_FRAMES = "frame-ancestors 'none'"
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_API = "/api/"
_OWN_SITE = {"same-origin", "none"}  # none: typed into the bar, or a bookmark


class Guard:
    """The server's outermost layer: refuses what isn't ours, and puts the headers on all it says.

    421 for another host's name, 403 for a question that another site's page asks.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        """Let pass what is meant for this port."""
        self._app = app
        self._hosts = {f"{name}:{port}" for name in NAMES}
        if port == _HTTP:
            self._hosts |= {*NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._home = f"http://{NAMES[0]}:{port}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close"})
        else:
            refusal = self._refusal(scope)
            await (refusal or self._app)(scope, receive, _with_headers(send, scope["path"]))

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        given = _Given(scope["headers"])
        host = given.only("host")
        if host is None or host.lower() not in self._hosts:
            return PlainTextResponse(f"This page is at {self._home} only.\n", 421)
        origin, site = given.only("origin"), given.only("sec-fetch-site")
        foreign = origin is not None and origin.lower() not in self._origins
        reads = scope["path"].startswith(_API) or scope["method"] not in ("GET", "HEAD")
        if foreign or (reads and site is not None and site not in _OWN_SITE):
            return PlainTextResponse("Another site's page may not ask here.\n", 403)
        return None


class _Given:
    """A request's headers."""

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._all = [(name.lower(), value) for name, value in headers]

    def only(self, name: str) -> str | None:
        """The one header of this name; none if it is missing, the empty text if there are two."""
        values = [value.decode("latin-1") for key, value in self._all if key == name.encode()]
        return None if not values else values[0] if len(values) == 1 else ""


def _with_headers(send: Send, path: str) -> Send:
    """The same, with our headers on each answer; no cache keeps what the page works with."""
    cached = "no-store" if path.startswith(_API) else "no-cache"
    ours = {**HEADERS, "cache-control": cached}

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            theirs = {name.decode().lower(): value for name, value in message["headers"]}
            # What isn't the page itself may do nothing at all.
            policy = theirs.pop(POLICY, b"default-src 'none'").decode()
            whole = {**ours, POLICY: f"{policy}; {_FRAMES}"}
            kept = [(n, v) for n, v in message["headers"] if n.decode().lower() not in whole]
            own = [(name.encode(), value.encode()) for name, value in whole.items()]
            message = {**message, "headers": [*kept, *own]}
        await send(message)

    return sent
