"""The rows of a ledger with those of all blocks as one: `blocks.0..11.attention.scores`."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from handformer.tracing.ledger import Row

_BLOCK = re.compile(r"(?<=\.)\d+(?=\.|$)")


@dataclass(frozen=True)
class Folded:
    """Rows that belong together.

    path
        of all of them, with the numbers of the blocks that they stand in
    needed_by
        the names of the gradients that need them, without their paths
    """

    path: str
    rows: tuple[Row, ...]

    @property
    def needed_by(self) -> tuple[str, ...]:
        """The names of the gradients that need them, without the paths."""
        return _names(self.rows[0])

    @property
    def bytes(self) -> int:
        """The memory that they take together."""
        return sum(row.bytes for row in self.rows)

    @property
    def flops(self) -> int | None:
        """The operations that compute them again; None where no formula tells."""
        known = [row.flops for row in self.rows if row.flops is not None]
        return sum(known) if known else None

    @property
    def price(self) -> float:
        """Operations for each byte that would be saved; infinite where no formula tells."""
        return float("inf") if self.flops is None else self.flops / max(self.bytes, 1)


def fold(rows: Iterable[Row]) -> list[Folded]:
    """Each row together with its like of the other blocks, where the first of them stands."""

    def like(row: Row) -> tuple[object, ...]:
        return row.kind, row.axes, row.shape, row.bytes, row.flops, _names(row)

    return _folded(rows, lambda row: row.path, like)


def parts(rows: Iterable[Row]) -> list[Folded]:
    """All rows of one part of the model together, its like in all blocks too."""
    return _folded(rows, lambda row: row.path.rpartition(".")[0], lambda row: ())


def _folded(
    rows: Iterable[Row], path: Callable[[Row], str], like: Callable[[Row], tuple[object, ...]]
) -> list[Folded]:
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((_BLOCK.sub("*", path(row)), *like(row)), []).append(row)
    return [Folded(_numbered([path(row) for row in same]), tuple(same)) for same in found.values()]


def _names(row: Row) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.rpartition(".")[2] for path in row.needed_by))


def _numbered(paths: Sequence[str]) -> str:
    numbers = {int(found[0]) for path in paths if (found := _BLOCK.search(path))}
    return _BLOCK.sub(_ranges(sorted(numbers)), paths[0])


def _ranges(numbers: list[int]) -> str:
    """`3`, `0..11` or `0..2,5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}..{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
