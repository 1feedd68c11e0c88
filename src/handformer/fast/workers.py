"""Threads that work side by side, without waiting for each other inside a step.

There is one level of threads: each worker runs whole pieces of work, on one BLAS thread of its own
(products of a few rows, which training has none of, may ask the crew for help).
Kernels and products let go of Python's lock, so the workers only meet where Python decides what
comes next.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

from handformer.fast.memory import Arena, reuse

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # a container may be given fewer than there are
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """So many threads; used as `with Workers(2) as workers`, in which BLAS has one a thread."""

    def __init__(self, count: int) -> None:
        """Nothing runs yet."""
        if count < 1:
            raise ValueError(f"{count} threads: expected at least one")
        self.count = count
        self._arenas: list[Arena] = []
        self._pool: ThreadPoolExecutor | None = None
        self._limits: threadpool_limits | None = None

    def __enter__(self) -> "Workers":
        """BLAS threads that shared a small product would wait longer than they work."""
        self._limits = threadpool_limits(1, user_api="blas")
        return self

    def __exit__(self, *_: object) -> None:
        """The threads end, their memory is given back, and BLAS has its own threads again."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self._arenas.clear()
        if self._limits is not None:
            self._limits.restore_original_limits()

    @property
    def nbytes(self) -> int:
        """The memory that is kept from one round to the next."""
        return sum(arena.nbytes for arena in self._arenas)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """function(item) of every item, in their order; the first exception is raised."""
        if self.count == 1:
            return [function(item) for item in items]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.count, "handformer")
        return list(self._pool.map(function, items))

    def map_in_arenas(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> list[Result]:
        """The same, with an arena for each item: its results stay valid until the next call."""
        while len(self._arenas) < len(items):
            self._arenas.append(Arena())

        def run(number: int) -> Result:
            with reuse(self._arenas[number]):
                return function(items[number])

        return self.map(run, range(len(items)))
