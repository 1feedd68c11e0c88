"""The page's server: its own files, traces, and what a model does when asked; on loopback only."""

import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from handformer.errors import InputError
from handformer.inspector import asked
from handformer.inspector.data import to_json
from handformer.inspector.host import POLICY, Guard
from handformer.inspector.limits import Limits
from handformer.inspector.session import GoneError, Session
from handformer.inspector.shell import shell
from handformer.inspector.tour import LANGUAGES, tour
from handformer.inspector.worker import BusyError, Worker

ADDRESS = "127.0.0.1"
_STATUS = {InputError: 400, GoneError: 404, BusyError: 503, MemoryError: 507}
_NO_MEMORY = "out of memory: take a shorter text or a smaller model"
_HANG_UP = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []  # Windows has none
_SECONDS = 1  # that answers at work get when the server ends


def app(session: Session, port: int, worker: Worker) -> ASGIApp:
    """The whole application, for one port; it closes the session when it ends."""
    desk = _Desk(session, worker)
    routes = [
        Route("/", desk.page),
        Route("/api/about", desk.about),
        Route("/api/traces", desk.traces),
        Route("/api/traces/{number}", desk.trace),
        Route("/api/traces/{number}/data", desk.data),
        Route("/api/log", desk.log),
        Route("/api/tour", desk.tour),
        Route("/api/run", desk.run, methods=["POST"]),
        Route("/api/generate", desk.write, methods=["POST"]),
        Route("/api/generate/{number}", desk.write_on, methods=["POST"]),
    ]
    failures: list[type[Exception]] = [*_STATUS, HTTPException]
    inner = Starlette(
        routes=routes,
        exception_handlers=dict.fromkeys(failures, _failed),
        lifespan=desk.lifespan,
    )
    inner.router.redirect_slashes = False
    return Guard(Limits(inner), port)


class _Desk:
    """The answers."""

    def __init__(self, session: Session, worker: Worker) -> None:
        self._session, self._worker, self._shell = session, worker, shell("handformer")

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """At the end, whatever ends it, nothing is left on the disk."""
        try:
            yield
        finally:
            self._worker.stop()
            self._session.close()

    async def page(self, _: Request) -> Response:
        return HTMLResponse(self._shell.html, headers={POLICY: self._shell.policy})

    async def about(self, _: Request) -> Response:
        return _json(self._session.about)

    async def traces(self, _: Request) -> Response:
        return _json([{"id": one.number, "title": one.title} for one in self._session.traces()])

    async def trace(self, request: Request) -> Response:
        shown = self._session.trace(request.path_params["number"])
        shown.check()
        return Response(shown.document, media_type="application/json")

    async def data(self, request: Request) -> Response:
        """The file itself, or the part of it that a Range header names."""
        shown = self._session.trace(request.path_params["number"])
        shown.check()
        return FileResponse(shown.path, media_type="application/octet-stream")

    async def log(self, _: Request) -> Response:
        read = self._session.log
        if read is None:
            raise GoneError("there is no run here, and so no log")
        return _json(await run_in_threadpool(read))

    async def tour(self, request: Request) -> Response:
        language = request.query_params.get("lang", "en")
        if language not in LANGUAGES:
            raise InputError(f"lang {language[:20]!r}: expected one of {', '.join(LANGUAGES)}")
        return _json(await run_in_threadpool(tour, language))

    async def run(self, request: Request) -> Response:
        what = asked.read(await _body(request), asked.Run)
        number = await self._worker.do(lambda: self._session.run(what.text, what.targets))
        return _json({"id": number})

    async def write(self, request: Request) -> Response:
        what = asked.read(await _body(request), asked.Generate)
        begin = lambda: self._session.write(what.text, what.sampling, what.seed)  # noqa: E731
        return _json(await self._worker.do(begin))

    async def write_on(self, request: Request) -> Response:
        asked.read(await _body(request), asked.GenerateOn)
        number = request.path_params["number"]
        return _json(await self._worker.do(lambda: self._session.write_on(number)))


async def _body(request: Request) -> bytes:
    """The body, if it is said to be JSON: no form of another site's page can say so unasked."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "expected application/json")
    return await request.body()


def _json(data: Any, status: int = 200) -> Response:
    return Response(to_json(data), status, media_type="application/json")


async def _failed(_: Request, error: Exception) -> Response:
    """The answer to an error: what it says, in the form that the page reads."""
    if isinstance(error, HTTPException):
        return _json({"error": error.detail}, error.status_code)
    status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
    said = _NO_MEMORY if isinstance(error, MemoryError) else str(error)
    return _json({"error": said}, status)


def listen(port: int) -> socket.socket:
    """A socket on the loopback interface; port 0 is any free one.

    Raises
    ------
    InputError
        where the port is taken, or isn't one
    """
    if not 0 <= port < 1 << 16:
        raise InputError(f"port {port}: expected 0 (any free one) to 65535")
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((ADDRESS, port))
        opened.listen(128)
    except OSError as error:
        opened.close()
        why = error.strerror or error
        raise InputError(f"port {port} can't be used ({why}); leave out --port") from None
    return opened


class _Server(uvicorn.Server):
    """One that doesn't wait for a computation when it is to end."""

    worker: Worker

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.worker.stop()
        await super().shutdown(sockets)


def server(session: Session, opened: socket.socket) -> uvicorn.Server:
    """What answers at a socket that `listen` gave, as soon as it is run."""
    worker, port = Worker(), opened.getsockname()[1]
    made = _Server(
        uvicorn.Config(
            app(session, port, worker), log_config=None, log_level="error", access_log=False,
            ws="none", lifespan="on", proxy_headers=False, server_header=False,
            timeout_graceful_shutdown=_SECONDS,
        )
    )  # fmt: skip
    made.worker = worker
    return made


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """While it lasts, SIGTERM ends the process as errors do, so that what is open gets closed.

    A terminal that hangs up ends it in the same way.
    """

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def hang_up(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    before = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, leave),
        **{one: signal.signal(one, hang_up) for one in _HANG_UP},
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
