"""What computes an update: the book's engine, with plain ops and pure functions.

The compiled one takes the same shares of a batch in the same order, so their numbers differ by
rounding alone; and each gives the same bits every time, whatever the number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from types import ModuleType
from typing import Self, TypeVar

import numpy as np

import handformer.ops as plain
from handformer import tree
from handformer.errors import InputError
from handformer.fast.workers import Workers
from handformer.models import Model
from handformer.ops.drops import Drops
from handformer.train import clipping, step
from handformer.train.optimizer import Optimizer, State
from handformer.train.step import Batch, Gradients, NonFiniteError, require_finite

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine:
    """The book: plain ops, and nothing is changed in place.

    `shares` batches at a time are worked on, by up to `threads` threads, which run inside
    `with engine:`.
    """

    ops: ModuleType = plain

    def __init__(self, shares: int = 1, threads: int = 1) -> None:
        """Nothing runs yet."""
        if shares < 1:
            raise ValueError(f"{shares} shares: expected at least one")
        self.shares = shares
        self.workers = Workers(min(shares, threads))

    def __enter__(self) -> Self:
        """Threads start, and BLAS has one in each."""
        self.workers.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Threads end, and their memory is given back."""
        self.workers.__exit__()

    def own(self, model: Model, state: State) -> tuple[Model, State]:
        """Both in the form that `update` wants; the compiled engine will change them."""
        return model, state

    def gradients(
        self, model: Model, batches: Sequence[Batch], *, smoothing: float, drop: Drops
    ) -> Gradients:
        """Loss and gradients: `step.gradients`."""
        return step.gradients(
            model, batches, smoothing=smoothing, drop=drop, ops=self.ops, each=self._each
        )

    def evaluate(self, model: Model, batches: Sequence[Batch]) -> float:
        """The mean loss: `step.evaluate`."""
        return step.evaluate(model, batches, ops=self.ops, each=self._each)

    def update(
        self, model: Model, found: Gradients, state: State, optimizer: Optimizer, clip: float,
        lr: float,
    ) -> tuple[Model, State]:  # fmt: skip
        """Clip, and make one update, in new arrays.

        Raises
        ------
        NonFiniteError
            where the norm, a square or a new weight isn't finite
        """
        require_finite_norm(found)
        grads, _ = clipping.clip(found.grads, clip)
        with overflow_named(), np.errstate(over="ignore", invalid="ignore"):  # found below
            params, state = optimizer.update(tree.flatten(model), grads, state, lr)
        require_finite("updated weight", params)
        return tree.replace(model, params), state

    def rounds(
        self, run: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[list[Result]]:
        """run(item) of every item, `shares` at a time: each list is valid until the next one."""
        for first in range(0, len(items), self.shares):
            yield self.workers.map_in_arenas(run, items[first : first + self.shares])

    def _each(self, run: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        return chain.from_iterable(self.rounds(run, items))


def require_finite_norm(found: Gradients) -> None:
    """Raise NonFiniteError where the norm isn't finite, whatever its parts are."""
    require_finite("norm of", {"all gradients": np.array(found.norm)})


@contextmanager
def overflow_named() -> Iterator[None]:
    """A square that overflows is a number that isn't finite like any other."""
    try:
        yield
    except InputError as error:
        raise NonFiniteError(str(error)) from None
