"""Threads that help with one large kernel, such as a product that is as fast as memory is read.

A task is cut into pieces, and whoever is free takes the next: the caller, who takes part, and the
helpers. So a helper that comes late, or that the system has put aside, holds up nothing but the
piece it has. Each entry of a result belongs to one piece: the result doesn't depend on who computed
it, or on how many there were.

The board is a few words of memory that all can see. Its ticket says how many pieces of the current
order are left (and the order's number, so that no ticket looks like an earlier one); a piece
belongs to whoever counts the ticket down. Another word counts the pieces that are done. Between the
products of a step a helper looks at the ticket again and again, since waking a thread would take
longer than a product does; after a millisecond without work it sleeps. Where a caller has waited
for a piece much longer than a piece takes, the machine is busy with something else, and a helper
that is put aside costs more than it brings: the caller then works alone for a while.
"""

import atexit
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numpy.typing import NDArray

from handformer.fast.compiled import SETTINGS, compiled, config, part, with_cache

MOST = 4  # threads in all: a few are enough to read memory as fast as it goes
# Places on the board, in cache lines of their own. Behind ORDER a task finds what it is to do.
_TICKET, _DONE, _AWAKE, _CLOSED, _ALONE, _TASK, ORDER, _SIZE = 0, 8, 16, 17, 24, 25, 26, 48
_PIECES = (1 << 24) - 1  # the part of a ticket that counts pieces
_PATIENCE = 500_000  # looks at the ticket before a helper sleeps: a millisecond or so
_LONG = 1_000_000  # looks at the pieces that are done, after which somebody has been put aside
_WHILE = 200  # orders: about a step of generation

Board = NDArray[np.int64]
intrinsic: Callable[[Callable[..., Any]], Any] = extending.intrinsic


def _at(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, ir.IntType(64).as_pointer())


@intrinsic
def _load(typingctx: Any, address: Any) -> Any:
    """The word at an address, read before anything that follows."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_at(builder, arguments[0]), "acquire", 8)

    return types.int64(types.int64), code


@intrinsic
def _store(typingctx: Any, address: Any, value: Any) -> Any:
    """Write a word, after everything that stands before."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[1], _at(builder, arguments[0]), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def _add(typingctx: Any, address: Any, value: Any) -> Any:
    """Add to a word that others add to as well."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", _at(builder, arguments[0]), arguments[1], "acq_rel")

    return types.int64(types.int64, types.int64), code


@intrinsic
def _swap(typingctx: Any, address: Any, old: Any, new: Any) -> Any:
    """Write a word if it is still the old one, and say whether it was."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _at(builder, arguments[0])
        both = builder.cmpxchg(where, arguments[1], arguments[2], "acq_rel", "acquire")
        return builder.extract_value(both, 1)

    return types.boolean(types.int64, types.int64, types.int64), code


@intrinsic
def _call(typingctx: Any, task: Any, order: Any, piece: Any) -> Any:
    """Call the task at an address."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


_let_others_run: Any = (  # where the system has no such call, the caller goes on looking
    types.ExternalFunction("sched_yield", types.int32()) if os.name == "posix" else None
)


def task(function: Callable[[int, int], None]) -> Callable[[], int]:
    """A kernel that does one piece: task(address of the order, number of the piece).

    What it gives is asked for the kernel's address, and compiles it when asked first.
    """

    @cache
    def address() -> int:
        settings = {name: value for name, value in SETTINGS.items() if name != "nogil"}

        def make(kept: bool) -> Any:
            return numba.cfunc("void(int64, int64)", **{**settings, "cache": kept})(function)

        return int(with_cache(make).address)

    return address


@compiled
def lead(board: Board, task: int, pieces: int) -> None:
    """Have the pieces of a task done, whose order has been written to the board: all of them."""
    base = int(board.ctypes.data)
    if board[_ALONE] > 0:
        board[_ALONE] -= 1
        for piece in range(pieces):
            _call(task, base + 8 * ORDER, piece)
        return
    ticket, done = base + 8 * _TICKET, base + 8 * _DONE
    board[_TASK] = task
    board[_DONE] = 0
    _store(ticket, (((_load(ticket) >> 24) + 1) << 24) | pieces)
    while _took_part(base):
        pass
    looks = 0
    while _load(done) < pieces:
        looks += 1
        if looks % _LONG == 0:
            board[_ALONE] = _WHILE
            _rest()


@compiled
def _serve(board: Board) -> None:
    """Help with whatever comes, until nothing has come for a while."""
    base = int(board.ctypes.data)
    _add(base + 8 * _AWAKE, 1)
    looks = 0
    while looks < _PATIENCE and _load(base + 8 * _CLOSED) == 0:
        looks = 0 if _took_part(base) else looks + 1
    _add(base + 8 * _AWAKE, -1)


@part
def _took_part(base: int) -> bool:
    """Take a piece and do it, if there is one."""
    left = _load(base + 8 * _TICKET)
    if left & _PIECES == 0 or not _swap(base + 8 * _TICKET, left, left - 1):
        return False
    _call(_load(base + 8 * _TASK), base + 8 * ORDER, (left & _PIECES) - 1)
    _add(base + 8 * _DONE, 1)
    return True


@part
def _rest() -> None:
    if _let_others_run is not None:
        _let_others_run()


class Crew:
    """A board and the threads that look at it. One caller at a time has their help."""

    def __init__(self, helpers: int) -> None:
        """The threads are started when there is something to do."""
        self._board, self._helpers = _new_board(), helpers
        self._free, self._bells = threading.Lock(), list[threading.Event]()
        self._threads: list[threading.Thread] = []

    @property
    def awake(self) -> int:
        """How many helpers are looking for work."""
        return int(self._board[_AWAKE])

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """What kernel(board, *arguments) gives, which writes orders to the board and leads.

        Where the helpers are at work for somebody else, the caller does it all alone.
        """
        if not self._free.acquire(blocking=False):
            return kernel(_new_board(), *arguments)
        try:
            if self.awake < self._helpers and not self._board[_ALONE]:
                self._wake()
            return kernel(self._board, *arguments)
        finally:
            self._free.release()

    def close(self) -> None:
        """Send the helpers home."""
        self._board[_CLOSED] = 1
        for bell in self._bells:
            bell.set()
        for thread in self._threads:
            thread.join()

    def _wake(self) -> None:
        while len(self._threads) < self._helpers:
            bell = threading.Event()
            thread = threading.Thread(target=self._help, args=(bell,), daemon=True)
            self._bells.append(bell)
            self._threads.append(thread)
            thread.start()
        for bell in self._bells:
            bell.set()

    def _help(self, bell: threading.Event) -> None:
        while not self._board[_CLOSED]:
            bell.wait()
            bell.clear()
            _serve(self._board)


def _new_board() -> Board:
    room = np.zeros(_SIZE + 8, dtype=np.int64)
    first = -room.ctypes.data % 64 // 8
    return room[first : first + _SIZE]


NOBODY = _new_board()  # for kernels that turn out to need no help


@cache
def shared() -> Crew:
    """The crew of this process: as many threads as it has cores, up to a few.

    NUMBA_NUM_THREADS in the environment sets a smaller number; 1 is the caller alone.
    """
    crew = Crew(min(int(config.NUMBA_NUM_THREADS), MOST) - 1)
    atexit.register(crew.close)
    return crew


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=shared.cache_clear)  # a child has none of our threads
