"""One computation after another, in a thread of its own, while the server goes on answering.

A model's step takes both the processor and memory: two at once are slower than one after the other.
So they wait in a line, and when the line is long, the next is turned away. The thread doesn't keep
the process alive: who ends the server doesn't wait for a computation.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any, TypeVar

Result = TypeVar("Result")
LINE = 16


class BusyError(Exception):
    """So many wait already that another would wait too long, or the server is about to end."""


class Worker:
    """The thread and its line."""

    def __init__(self, line: int = LINE) -> None:
        """Nothing waits yet; at most `line` will."""
        self._waiting: set[asyncio.Future[Any]] = set()
        self._line: Queue[tuple[Future[Any], Callable[[], Any]] | None] = Queue(line)
        self._stopped = False
        self._thread = threading.Thread(target=self._work, daemon=True, name="handformer inspect")
        self._thread.start()

    async def do(self, work: Callable[[], Result]) -> Result:
        """What `work` gives, when its turn has come.

        Raises
        ------
        BusyError
            where the line is full, or the server ends before it is done
        """
        if self._stopped:
            raise BusyError("the server is ending")
        future: Future[Result] = Future()
        try:
            self._line.put_nowait((future, work))
        except Full:
            raise BusyError("the model has too much to do already: try again later") from None
        result = asyncio.wrap_future(future)
        self._waiting.add(result)
        try:
            return await result
        except asyncio.CancelledError:
            if result.cancelled() and self._stopped:
                raise BusyError("the server is ending") from None
            raise
        finally:
            self._waiting.discard(result)

    def stop(self) -> None:
        """Take up nothing more; whoever waits hears at once that it won't be done."""
        self._stopped = True
        for result in self._waiting:
            result.cancel()
        with suppress(Empty):
            while (waiting := self._line.get_nowait()) is not None:
                waiting[0].cancel()
        with suppress(Full):  # then the thread ends with the process
            self._line.put_nowait(None)

    def _work(self) -> None:
        while (taken := self._line.get()) is not None:
            future, work = taken
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:  # whoever waits gets it
                future.set_exception(error)
            del taken, future, work  # a trace isn't kept until the next one comes
