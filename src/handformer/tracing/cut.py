"""Less of a trace: some values, some positions, no weights; and how large one will be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from handformer.errors import InputError
from handformer.models import ModelConfig
from handformer.tracing.ledger import ledger
from handformer.tracing.seen import Kind
from handformer.tracing.trace import Trace, sealed

_WEIGHTS = ("weight", "weight_gradient")


@dataclass(frozen=True)
class Cut:
    """What of a trace is kept.

    only
        patterns of paths, as in `blocks.3.attention.*`; none: all values
    positions
        places along axis t; None: all. A value that is cut can't be explained any more
    weights
        whether the weights and their gradients stay
    """

    only: tuple[str, ...] = ()
    positions: tuple[int, ...] | None = None
    weights: bool = True

    def keeps(self, paths: Iterable[str], kind: Kind) -> bool:
        """Whether a value that is seen under these paths stays."""
        if kind in _WEIGHTS and not self.weights:
            return False
        return not self.only or any(fnmatchcase(p, one) for p in paths for one in self.only)

    def of(self, trace: Trace) -> Trace:
        """The trace with only what is kept; the manifest still names all values.

        Raises
        ------
        InputError
            for a pattern that fits no value, or a position that isn't there
        """
        known = [path for value in trace.manifest.values for path in (value.path, *value.also)]
        for pattern in self.only:
            if not any(fnmatchcase(path, pattern) for path in known):
                raise InputError(f"no value fits {pattern!r}; trace.keys() names them all")
        length = trace["tokens"].shape[-1]
        for position in self.positions or ():
            if not 0 <= position < length:
                raise InputError(f"position {position} isn't one of the {length} tokens")
        values, arrays = [], {}
        for value in trace.manifest.values:
            kept = value.kept and self.keeps((value.path, *value.also), value.kind)
            change: dict[str, Any] = {"kept": kept}
            if kept:
                array = trace[value.path]
                if self.positions is not None and "t" in {*value.axes} - {*value.source}:
                    array = np.take(array, self.positions, axis=value.axes.index("t"))
                    change |= {"shape": array.shape, "scope": None}
                arrays[value.path] = sealed(array)
            values.append(value.model_copy(update=change))
        changes = {"values": tuple(values), "positions": self.positions}
        return Trace(trace.manifest.model_copy(update=changes), arrays)


def forecast(
    config: ModelConfig, rows: Sequence[Sequence[int]], dtype: Any, cut: Cut = Cut()
) -> int:
    """About how many bytes a trace of these rows of tokens will take: nothing is computed."""
    length = max(map(len, rows))
    kept = ledger(config, batch=len(rows), length=length, dtype=dtype).rows
    share = 1.0 if cut.positions is None else len(cut.positions) / length
    return sum(
        int(row.bytes * (share if "t" in row.axes else 1))
        for row in kept
        if cut.keeps((row.path, *row.also), row.kind)
    )
