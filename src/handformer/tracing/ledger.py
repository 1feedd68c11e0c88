"""The ledger of a training step: every value that is kept, what it takes, needs and costs.

Nothing is computed: the model runs forward and backward on shapes alone. What is in the records
afterwards is what a real step keeps, so the sums are those that are measured.

A value that is seen from several places (a norm's output is the attention's x) lies in memory once
and stands here once, under the path where it is made.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from handformer.errors import InputError
from handformer.formula.sizes import Shape
from handformer.models import ModelConfig
from handformer.tracing.outline import outline
from handformer.tracing.passing import LOSS, LOSS_SHEET, both_ways
from handformer.tracing.seen import Found, Kind, Seen
from handformer.tracing.shapes import Shapes, Undrawn, place
from handformer.tracing.stated import Stated, stated


@dataclass(frozen=True)
class Row:
    """One value.

    path, also
        where it is made, and where else it is seen
    axes, shape
        the letters of its axes (none where no formula tells them), and their lengths
    formula
        how it is computed; None for what comes from outside
    needed_by
        the gradients whose formulas mention it; a value that none needs is kept to be looked at
    flops
        operations to compute it again from the values that its formula mentions
    """

    path: str
    also: tuple[str, ...]
    kind: Kind
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    formula: str | None
    needed_by: tuple[str, ...]
    flops: int | None


@dataclass(frozen=True, repr=False)
class Ledger:
    """A training step on `batch` sequences of `length` tokens, before it is made."""

    config: ModelConfig
    batch: int
    length: int
    dtype: str
    moments: int
    shares: int
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        """The total; the rows are for `rows`."""
        step = f"{self.batch} x {self.length} tokens in {self.dtype}"
        values = f"{len(self.rows):,} values, {self.total:,} bytes"
        return f"Ledger of {self.config.family}, {step}: {values}"

    def of(self, *kinds: Kind) -> tuple[Row, ...]:
        """The rows of these kinds, in the order of the computation."""
        return tuple(row for row in self.rows if row.kind in kinds)

    def bytes(self, *kinds: Kind) -> int:
        """The memory that all values of these kinds take."""
        return sum(row.bytes for row in self.of(*kinds))

    def flops(self, *kinds: Kind) -> int:
        """The operations that make all values of these kinds, each once."""
        return sum(row.flops or 0 for row in self.of(*kinds))

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return self.bytes("weight") // np.dtype(self.dtype).itemsize

    @property
    def moment_bytes(self) -> int:
        """The memory of what the optimizer remembers of each weight."""
        return self.moments * self.bytes("weight")

    @property
    def share_bytes(self) -> int:
        """The memory of the other shares' gradients of weights: each share has its own."""
        gradients = self.of("gradient", "weight_gradient")
        return (self.shares - 1) * sum(row.bytes for row in gradients if "b" not in row.axes)

    @property
    def total(self) -> int:
        """The memory of all that is kept in a step."""
        return sum(row.bytes for row in self.rows) + self.moment_bytes + self.share_bytes


def ledger(
    config: ModelConfig,
    *,
    batch: int = 12,
    length: int | None = None,
    dtype: Any = np.float32,
    moments: int = 2,
    shares: int = 1,
) -> Ledger:
    """What a training step of this model will keep.

        print(ledger(ModelConfig(d_model=256), batch=8).total)

    Parameters
    ----------
    batch
        sequences in a micro-batch
    length
        tokens in a sequence; None is the model's context, and so many a batch of texts has. Of
        pairs it is the most that either side can have
    moments
        numbers that the optimizer remembers for each weight: 2 for AdamW, 0 or 1 for SGD
    shares
        pieces that the batch is cut into, which are worked on side by side

    Raises
    ------
    InputError
        for a length beyond the context
    MemoryError
        for sizes that no array can have
    """
    length = config.context if length is None else length
    if not (batch >= 1 and 1 <= length <= config.context):
        raise InputError(
            f"a batch of {batch} with {length} tokens each: expected at least one of each, and at "
            f"most the model's context, {config.context}"
        )
    width = config.head_width
    shapes = Shapes({"d_k": width, "n_pairs": width // 2, "vocab_size": config.vocab_size})
    ops, model = shapes.ops, outline(config, shapes, dtype)
    inputs = _inputs(config, shapes, (batch, length))
    targets = shapes.empty((batch, length), np.int64)

    made = both_ways(model, inputs, targets, ops=ops, drop=Undrawn(shapes))
    told = stated(model, made.cache, made.back, **{LOSS: LOSS_SHEET})
    seen = Seen(place)
    made.enter(seen)
    rows = tuple(_row(found, shapes, told) for found in seen)
    name = np.dtype(dtype).name
    return Ledger(config, batch, length, name, moments, min(shares, batch), rows)


def _inputs(config: ModelConfig, shapes: Shapes, shape: Shape) -> dict[str, Any]:
    """The arguments of the model's forward, as the tasks make them."""
    forms: dict[str, Any] = {"tokens": np.int64}
    if config.family == "transformer":  # pairs are padded
        forms |= {"source": np.int64, "source_valid": np.bool_, "valid": np.bool_}
    return {name: shapes.empty(shape, dtype) for name, dtype in forms.items()}


def _row(found: Found, shapes: Shapes, told: Stated) -> Row:
    """The row of a value, under the path where it was seen first: there it is made."""
    path, *also = found.paths
    needed = dict.fromkeys(by for seen in found.paths for by in told.needed_by.get(seen, ()))
    formula, made = told.formulas.get(path), shapes.of(found.array)
    return Row(
        path=path,
        also=tuple(also),
        kind=found.kind,
        axes=next((told.axes[seen] for seen in found.paths if seen in told.axes), ()),
        shape=found.array.shape,
        dtype=found.array.dtype.name,
        bytes=made.bytes,
        formula=None if formula is None else repr(formula),
        needed_by=tuple(by for by in needed if by not in found.paths),
        flops=made.flops,
    )
