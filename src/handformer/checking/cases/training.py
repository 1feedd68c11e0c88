"""Several updates of a small model's weights: gradients are given, all else has a formula.

Whoever checks an optimizer needs no model for it. Of every update the case gives the micro-batches:
the mean of each one's losses, the gradient of that mean for every weight, and the count of its
targets. From there on everything is computed: the gradient of them all, its norm, the clipped
gradient, the rate, the moments, the new weights.

    start.params.head.w              before the first update: weights, moments and counters
    steps.0.micro.grads.head.w       given: one gradient for each micro-batch
    steps.0.grads.head.w             of all micro-batches together
    steps.0.norm                     of all gradients together
    steps.0.clipped.head.w           what the optimizer gets
    steps.0.lr                       the rate of this update
    steps.0.params.head.w            after the update

Each update is a scope of its own. What it starts from is seen in it under `before`: the weights
`steps.0.params.head.w` are `before.params.head.w` to the formulas of `steps.1`.

What is particular about the numbers: a row of the embedding and a whole weight get their first
gradient late; the gradients of a vector are so small that eps matters; some updates are clipped;
the micro-batches' counts differ, and the last window has one micro-batch alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.checking.cases.updates import update
from handformer.checking.cases.worked_out import worked_out
from handformer.errors import InputError
from handformer.formula import Sheet
from handformer.tracing.scopes import Scope
from handformer.tracing.seen import Found
from handformer.tracing.trace import Trace
from handformer.train.optimizer import SGD, AdamW

Array = NDArray[Any]

SHAPES = {
    "embedding.table": (7, 4), "norm.gamma": (4,), "mlp.w_in": (4, 6), "mlp.b_in": (6,),
    "adapter.w": (6, 3), "head.w": (4, 5), "head.b": (5,),
}  # fmt: skip
LATE, FIRST = "adapter.w", 2  # frozen before the update of that number
SMALL = "head.b"
UNSEEN = 3  # the row of the embedding whose token comes late
COUNTS = ((7, 2), (3, 8), (9, 4), (2, 6), (5,))
SIZES = (0.05, 0.4, 0.08, 0.6, 0.3)  # of the gradients: the limit is 1


@dataclass(frozen=True)
class Schedule:
    """The rates: a rise over `warmup` updates, then half a cosine wave over `steps` in all.

    Without `steps` the rate stays.
    """

    peak_lr: float = 0.02
    warmup: int = 2
    steps: int | None = 6
    min_lr: float = 0.003

    @property
    def scalars(self) -> dict[str, float | int]:
        """The numbers that its formulas mention."""
        return {name: n for name, n in asdict(self).items() if n is not None}


def training_case(
    optimizer: AdamW | SGD | None = None,
    *,
    schedule: Schedule | None = None,
    loss_scale: float | None = None,
    seed: int = 0,
) -> Trace:
    """Five updates by this optimizer, AdamW if none is given.

    Parameters
    ----------
    schedule
        of the rates; None: two updates of warm-up, then a cosine wave
    loss_scale
        what each loss was multiplied by before its gradient was taken, as for float16; None: the
        gradients are given as they are
    """
    made = _Updates(optimizer or AdamW(), schedule or Schedule(), loss_scale)
    start = [*made.start(seed)]
    return worked_out(
        "training",
        [*made.scopes()],
        [*start, *made.micro_batches(seed)],
        [*made.values()],
        model=type(made.optimizer).__name__,
        letters={one.paths[0]: ("i", "j")[2 - one.array.ndim :] for one in start},
    )


FORMS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "betas": {"optimizer": AdamW(0.9, 0.999)},
    "sgd": {"optimizer": SGD(0.9, 0.1)},
    "scaled": {"loss_scale": 1024.0},
    "constant": {"schedule": Schedule(steps=None)},
    "no-room": {"schedule": Schedule(warmup=3, steps=4)},
}


def training_form(form: str) -> Trace:
    """The case of a form: Adam's own betas, SGD with momentum, a loss scale, another schedule.

    Raises
    ------
    InputError
        for another form
    """
    if form not in FORMS:
        raise InputError(f"form {form!r}: expected one of {', '.join(filter(None, FORMS))}")
    return training_case(**FORMS[form])


def _taking(step: int) -> tuple[str, ...]:
    """The paths of the weights that take part in an update."""
    return tuple(path for path in SHAPES if path != LATE or step >= FIRST)


def _rounded(array: Array) -> Array:
    """Numbers in float64 that float32 holds too: both sides start from exactly the same."""
    return array.astype(np.float32).astype(np.float64)


class _Updates:
    """The updates of a case: what is given, the scopes, and what follows."""

    def __init__(
        self, optimizer: AdamW | SGD, schedule: Schedule, loss_scale: float | None
    ) -> None:
        self.optimizer, self.schedule, self.loss_scale = optimizer, schedule, loss_scale
        self.adam = isinstance(optimizer, AdamW)
        self._sheets: dict[tuple[str, ...], Sheet] = {}  # updates share them

    def sheet(self, step: int) -> Sheet:
        """The formulas of an update."""
        taking = _taking(step)
        if taking not in self._sheets:
            self._sheets[taking] = update(
                {path: len(shape) for path, shape in SHAPES.items()},
                taking,
                adam=self.adam,
                wave=self.schedule.steps is not None,
                scaled=self.loss_scale is not None,
            )
        return self._sheets[taking]

    def scopes(self) -> Iterator[Scope]:
        """A scope for each update, with the numbers that its formulas, and mistakes, mention."""
        for step, counts in enumerate(COUNTS):
            taking = _taking(step)
            scalars = {
                **asdict(self.optimizer), **self.schedule.scalars, "limit": 1.0, "step": step,
                "loss_scale": self.loss_scale or 1.0, "n_micro": len(counts),
                "n_before": sum(map(len, COUNTS[:step])), "n_taken": self._taken(step),
                **{f"number.{path}": number for number, path in enumerate(taking)},
                **{f"first.{path}": FIRST if path == LATE else 0 for path in SHAPES},
            }  # fmt: skip
            yield Scope(f"steps.{step}", type(self.optimizer).__name__, self.sheet(step), scalars)

    @staticmethod
    def _taken(step: int) -> int:
        """How many weights were updated before, each as often as it was."""
        return sum(len(_taking(before)) for before in range(step))

    def start(self, seed: int) -> Iterator[Found]:
        """The weights, and what the optimizer remembers before the first update: nothing."""
        rng = np.random.default_rng([seed, 0])
        for path, shape in SHAPES.items():
            drawn = rng.normal(1.0, 0.3, shape) if path == "norm.gamma" else rng.normal(size=shape)
            yield self._first("weight", f"params.{path}", _rounded(drawn))
        for name in ("grads", *(("m", "v") if self.adam else ("velocity",))):
            for path, shape in SHAPES.items():
                yield self._first("input", f"{name}.{path}", np.zeros(shape))
        if self.adam:
            for path in SHAPES:
                yield self._first("input", f"updates.{path}", np.array(0))

    def _first(self, kind: Any, name: str, array: Array) -> Found:
        return Found(kind, (f"start.{name}", *self._seen(name, 0)), array)

    def _seen(self, name: str, step: int) -> Iterator[str]:
        """Where a number is seen as what an update starts from, until there is a newer one."""
        while step < len(COUNTS):
            yield f"steps.{step}.before.{name}"
            if name in self.sheet(step):
                return
            step += 1

    def micro_batches(self, seed: int) -> Iterator[Found]:
        """Losses, gradients and counts of the micro-batches of each update."""
        name = "grads" if self.loss_scale is None else "scaled"
        for step, counts in enumerate(COUNTS):
            rng = np.random.default_rng([seed, 1, step])
            at = f"steps.{step}.micro"
            yield Found("input", (f"{at}.counts",), np.array(counts))
            losses = _rounded(rng.uniform(1.0, 4.0, len(counts)))
            yield Found("input", (f"{at}.losses",), losses)
            for path in _taking(step):
                drawn = self._drawn(rng, step, path) * (self.loss_scale or 1.0)
                yield Found("input", (f"{at}.{name}.{path}",), _rounded(drawn))

    @staticmethod
    def _drawn(rng: np.random.Generator, step: int, path: str) -> Array:
        drawn = rng.normal(size=(len(COUNTS[step]), *SHAPES[path])) * SIZES[step]
        if path == SMALL:
            drawn *= 10.0 ** -np.arange(2, 7)
        if path == "embedding.table" and step < FIRST:
            drawn[:, UNSEEN] = 0
        return drawn

    def values(self) -> Iterator[tuple[str, ...]]:
        """Where each value is made, and where it is seen."""
        names = ("params", "grads", "m", "v", "velocity", "updates")
        for step in range(len(COUNTS)):
            for formula in self.sheet(step):
                if formula.kept:
                    remembered = formula.name.partition(".")[0] in names
                    seen = self._seen(formula.name, step + 1) if remembered else ()
                    yield (f"steps.{step}.{formula.name}", *seen)
