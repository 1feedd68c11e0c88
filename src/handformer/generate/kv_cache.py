"""Reading on: the logits of the next token, with the keys and values of earlier tokens kept.

Rows that are read side by side form a lane: one batch, padded on the left, with one past. While all
rows of a lane only grow, a step costs one token a row. When a row's window turns (see `window`),
its lane is dissolved: the rows that turned are read again as a new lane, the others as a second
one. Rows that turned in the same step have windows of the same length and turn together from then
on. So rows are soon read again only when they turn themselves, and no past outgrows the context.

Nothing outlives the reader: another generation has another reader.
"""

from collections.abc import Collection, Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol

import numpy as np

import handformer.ops as plain
from handformer import tree
from handformer.axes import Array, BoolArray, IntArray, record
from handformer.generate.window import pad


class Config(Protocol):
    """What generation asks of a model's configuration."""

    @property
    def context(self) -> int:
        """How many tokens the model can see."""

    @property
    def vocab_size(self) -> int:
        """How many entries a row of logits has."""


class Extending(Protocol):
    """A model that reads on from a past: a record whose arrays all have the batch axis first."""

    def extend(
        self, tokens: IntArray, past: Any, *, valid: BoolArray | None = None, ops: ModuleType
    ) -> tuple[Array, Any]:
        """Logits (b, t, n) of tokens (b, t) after `past` (None: none yet), and the new past."""


class CausalModel(Extending, Protocol):
    """What generation asks of a model; `Decoder` is one. Positions count a row's valid tokens."""

    @property
    def config(self) -> Config:
        """The sizes."""

    def forward(
        self, tokens: IntArray, *, valid: BoolArray | None = None, ops: ModuleType
    ) -> tuple[Array, Any]:
        """Logits (b, t, n) of tokens (b, t) from the beginning, and a record."""


@record
class Window:
    """What a row sees: `tokens`, of which the first stands at place `start` of the row's text."""

    start: int
    tokens: Sequence[int]


@record
class Lane:
    """Rows read side by side: where their windows start, their past, their last logits (a, n)."""

    rows: tuple[int, ...]
    starts: tuple[int, ...]
    past: Any
    logits: Array

    def only(self, live: Collection[int]) -> "Lane":
        """The lane without the rows that have finished."""
        kept = [place for place, row in enumerate(self.rows) if row in live]
        if len(kept) == len(self.rows):
            return self
        rows, starts = zip(*((self.rows[k], self.starts[k]) for k in kept), strict=True)
        past = tree.transform(self.past, lambda _, array: array[kept])
        return Lane(rows, starts, past, self.logits[kept])


class Reader:
    """Reads with a cache. Each call gives the windows of the rows that go on, a token longer."""

    def __init__(
        self, model: Extending, chunk: int | None = None, *, ops: ModuleType = plain
    ) -> None:
        """Nothing is read yet; what comes will be read in pieces of `chunk` tokens, or in one."""
        self._model, self._chunk, self._ops = model, chunk, ops
        self._lanes: list[Lane] = []

    @property
    def pasts(self) -> tuple[Any, ...]:
        """What is kept of the windows read last, a lane each: what the model's `extend` gave."""
        return tuple(lane.past for lane in self._lanes)

    def logits(self, windows: Mapping[int, Window]) -> Array:
        """Logits of the token after each window, (rows, n), in the order of `windows`."""
        before = [lane.only(windows) for lane in self._lanes if windows.keys() & {*lane.rows}]
        started = {
            row: at for lane in before for row, at in zip(lane.rows, lane.starts, strict=True)
        }
        turned = {row for row, at in started.items() if windows[row].start != at}
        whole = [lane for lane in before if not turned & {*lane.rows}]
        fresh = windows.keys() - {row for lane in whole for row in lane.rows}

        lanes = [self._read_on(lane, windows) for lane in whole]
        groups = (sorted(fresh & turned), sorted(fresh - turned))
        lanes += [self._begin(tuple(rows), windows) for rows in groups if rows]
        self._lanes = lanes
        found = {row: y for lane in lanes for row, y in zip(lane.rows, lane.logits, strict=True)}
        return np.stack([found[row] for row in windows])

    def _begin(self, rows: tuple[int, ...], windows: Mapping[int, Window]) -> Lane:
        past, logits = self._read([windows[row].tokens for row in rows], None)
        return Lane(rows, tuple(windows[row].start for row in rows), past, logits)

    def _read_on(self, lane: Lane, windows: Mapping[int, Window]) -> Lane:
        past, logits = self._read([windows[row].tokens[-1:] for row in lane.rows], lane.past)
        return Lane(lane.rows, lane.starts, past, logits)

    def _read(self, rows: Sequence[Sequence[int]], past: Any) -> tuple[Any, Array]:
        """Read tokens after `past`: the new past, and the last logits (rows, n)."""
        tokens, valid = pad(rows)
        width = self._chunk or tokens.shape[1]
        for first in range(0, tokens.shape[1], width):
            piece = np.s_[:, first : first + width]
            logits, past = self._model.extend(
                tokens[piece], past, valid=valid[piece], ops=self._ops
            )
        return past, logits[:, -1]


class Rereader:
    """Reads every window from its beginning at each step: what `Reader` is held against."""

    def __init__(self, model: CausalModel, *, ops: ModuleType = plain) -> None:
        """Nothing to remember but the model."""
        self._model, self._ops = model, ops

    def logits(self, windows: Mapping[int, Window]) -> Array:
        """Logits of the token after each window, (rows, n), in the order of `windows`."""
        tokens, valid = pad([window.tokens for window in windows.values()])
        logits, _ = self._model.forward(tokens, valid=valid, ops=self._ops)
        return logits[:, -1]
