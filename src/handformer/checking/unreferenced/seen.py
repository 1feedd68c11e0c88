"""The values of a dump by path, each with how far its storing may have moved it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array
from handformer.checking.exchange import Dumped
from handformer.checking.exchange.rounding import rounding
from handformer.checking.unreferenced.names import Likely, find, heads_come_last

_BLOCK = re.compile(r"(.+)\.(\d+)")
_PAIRS = ("scores", "attn", "attn_kept")  # of a query and a key: two axes
_CHOICES = ("mask", "keep")  # of any type


@dataclass(frozen=True)
class Given:
    """One value: our path, their name, the numbers (floats as float64), and their rounding."""

    path: str
    called: str
    array: NDArray[Any]
    unit: float
    quantum: float

    @property
    def error(self) -> Array:
        """What one rounding may have moved each entry."""
        moved: Array = self.unit * np.abs(self.array) + self.quantum
        return np.where(np.isfinite(moved), moved, 0.0)

    @property
    def finite(self) -> bool:
        """Whether all of its numbers are."""
        return bool(np.isfinite(self.array).all())


class Seen(Mapping[str, Given]):
    """Values by path; one that is the same as its neighbour's is found under both paths."""

    def __init__(self, given: Iterable[Given]) -> None:
        """Made of values with different paths; of two with one path the first counts."""
        self.own: dict[str, Given] = {}
        for one in given:
            self.own.setdefault(one.path, one)
        self._all = dict(self.own)
        for path, source in _neighbours(self.own):
            if path not in self._all and source in self._all:
                self._all[path] = self._all[source]

    @classmethod
    def of(cls, dump: Mapping[str, Dumped | NDArray[Any]]) -> "Seen":
        """The arrays of a dump under our paths."""
        likely = Likely(dump)
        return cls(_given(name, dump[name], find(name, likely)) for name in dump)

    def __getitem__(self, path: str) -> Given:
        """The value at a path."""
        return self._all[path]

    def __iter__(self) -> Iterator[str]:
        """Every path."""
        return iter(self._all)

    def __len__(self) -> int:
        """How many paths there are."""
        return len(self._all)

    def scopes(self, *names: str) -> Iterator[tuple[str, Mapping[str, Given]]]:
        """The places in which all these names stand, each with all rows that stand below it."""
        for scope, inside in self._places.items():
            if all(name in inside for name in names):
                yield scope, inside

    @cached_property
    def _places(self) -> dict[str, dict[str, Given]]:
        """What stands below every path, by the names relative to it: rows of numbers only."""
        places: dict[str, dict[str, Given]] = {}
        for path, one in self._all.items():
            if not _has_rows(path, one.array):
                continue
            scope = path.rpartition(".")[0]
            while True:
                inside = path.removeprefix(f"{scope}.") if scope else path
                places.setdefault(scope, {})[inside] = one
                if not scope:
                    break
                scope = scope.rpartition(".")[0]
        return places


def _given(name: str, one: Dumped | NDArray[Any], path: str) -> Given:
    array = one.array if isinstance(one, Dumped) else np.asarray(one)
    unit, quantum = (one.unit, one.quantum) if isinstance(one, Dumped) else rounding(array)
    if heads_come_last(name) and array.ndim >= 3:
        array = array.swapaxes(-3, -2)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
    return Given(path, name, array, unit, quantum)


def _has_rows(path: str, array: NDArray[Any]) -> bool:
    """Whether questions can be asked of its rows: others than those of every array."""
    last = path.rpartition(".")[2].removeprefix("d_")
    fits = array.dtype.kind == "f" or last in _CHOICES
    return fits and array.size > 0 and array.ndim > (last in _PAIRS)


def _neighbours(paths: Mapping[str, Given]) -> Iterator[tuple[str, str]]:
    """Paths under which another one's numbers stand too, in the order in which they are found.

    Only what the dump itself tells is believed: where its blocks show neither form, nothing is.
    """
    blocks = dict.fromkeys(
        found[0] for path in paths for found in [_BLOCK.match(path)] if found and _is_block(found)
    )
    for block in sorted(blocks, key=_number):
        base, number = _number(block)
        form = _form(base, paths)
        if form is not None:
            end = {_PRE_NORM: "out", _POST_NORM: "norm_2.out", _CROSSED: "norm_3.out"}[form]
            starts = [f"{base}.{number - 1}.{end}"] if number else _starts(base, paths)
            yield from ((f"{block}.x", start) for start in starts)
            for path, source in form:
                if not _drops(paths, f"{block}.{path.partition('.')[0]}"):
                    yield f"{block}.{path}", f"{block}.{source}"
        yield f"{block}.d_out", f"{base}.{number + 1}.d_x"
    yield from (("head.x", "norm.out"), ("loss.logits", "head.out"), ("logits", "loss.logits"))


def _form(base: str, paths: Mapping[str, Given]) -> tuple[tuple[str, str], ...] | None:
    """Whether blocks normalise before the parts, after the sums, or that and look at a source."""
    inside = [path.removeprefix(base) for path in paths if path.startswith(f"{base}.")]
    ends = {re.sub(r"\.\d+\.", "", path, count=1) for path in inside}
    if {"mid", "d_mid"} & ends:
        return _PRE_NORM
    if any(end.startswith("cross.") or end == "norm_3.x" for end in ends):
        return _CROSSED
    return _POST_NORM if {"norm_1.x", "norm_2.x"} & ends and not base.endswith("decoder") else None


def _starts(base: str, paths: Mapping[str, Given]) -> list[str]:
    """What goes into the first block."""
    if "norm.out" in paths and any(path.endswith("type_embedding.out") for path in paths):
        return ["norm.out"]
    if base.endswith("encoder"):
        return ["source_x"]
    # Where positions turn q and k, none is added.
    turned = any(path.endswith(".q_rot") for path in paths)
    return ["x", "embedding.out"] if turned else ["x"]


_PRE_NORM = (
    ("norm_1.x", "x"), ("attention.x", "norm_1.out"), ("dropout_1.out", "attention.out"),
    ("norm_2.x", "mid"), ("mlp.x", "norm_2.out"), ("dropout_2.out", "mlp.out"),
    ("norm_1.d_out", "attention.d_x"), ("norm_2.d_out", "mlp.d_x"),
)  # fmt: skip
_POST_NORM = (
    ("attention.x", "x"), ("dropout_1.out", "attention.out"), ("mlp.x", "norm_1.out"),
    ("dropout_2.out", "mlp.out"),
)  # fmt: skip

_CROSSED = (
    ("attention.x", "x"), ("dropout_1.out", "attention.out"), ("cross.x", "norm_1.out"),
    ("dropout_2.out", "cross.out"), ("mlp.x", "norm_2.out"), ("dropout_3.out", "mlp.out"),
)  # fmt: skip


def _is_block(found: re.Match[str]) -> bool:
    return found[1].rpartition(".")[2] in ("blocks", "encoder", "decoder", "layers", "h")


def _number(block: str) -> tuple[str, int]:
    base, _, number = block.rpartition(".")
    return base, int(number)


def _drops(paths: Mapping[str, Given], part: str) -> bool:
    keep = paths.get(f"{part}.keep")
    return keep is not None and not keep.array.all()
