"""The path of the computation as a tree: unfolded around what is wrong, folded where nothing is."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from handformer.checking.report import BAD, Report, Status, Verdict
from handformer.checking.show.gathered import gathered

_PARTS = re.compile(r"[^.]+?\.\d+(?=\.|$)|[^.]+")  # `blocks.0` is one part of a path


@dataclass
class Node:
    """A part of the model, or a value of it."""

    name: str
    verdicts: list[Verdict] = field(default_factory=list)
    parts: "dict[str, Node]" = field(default_factory=dict)

    @property
    def wrong(self) -> bool:
        """Whether anything in it is."""
        return any(verdict.status in BAD for verdict in self.verdicts)

    @property
    def status(self) -> Status:
        """The worst that is said of anything in it; missing only where all is."""
        found = {verdict.status for verdict in self.verdicts}
        order = (*BAD, Status.INHERITED, Status.RIGHT)
        return next((status for status in order if status in found), Status.MISSING)


@dataclass(frozen=True)
class Row:
    """A line of the tree.

    names
        the parts that it stands for
    status
        the worst that is said of them
    verdicts
        of all values in them
    rows
        the lines below it; none where it is folded
    again
        whether a part like it is unfolded above already, with the same mistake
    """

    names: tuple[str, ...]
    status: Status
    verdicts: tuple[Verdict, ...]
    rows: "tuple[Row, ...]" = ()
    again: bool = False

    @property
    def counts(self) -> Counter[Status]:
        """How many values of each kind."""
        return Counter(verdict.status for verdict in self.verdicts)


def outline(report: Report) -> list[Row]:
    """The forward pass and the backward pass, as far as the case has them."""
    repeated = {v.path for group in gathered(report) for v in group.verdicts[1:]}
    rows = []
    for name, backward in (("forward", False), ("backward", True)):
        verdicts = tuple(v for v in report.verdicts if v.backward is backward)
        if verdicts:
            top = Node(name)
            for verdict in verdicts:
                _put(top, verdict)
            rank = {verdict.path: at for at, verdict in enumerate(verdicts)}
            there = top.status is not Status.MISSING
            below = tuple(_rows(top.parts.values(), rank, repeated)) if there else ()
            rows.append(Row((name,), top.status, verdicts, below))
    return rows


def _put(top: Node, verdict: Verdict) -> None:
    top.verdicts.append(verdict)
    node = top
    for part in _PARTS.findall(verdict.path) or [verdict.path]:
        node = node.parts.setdefault(part, Node(part))
        node.verdicts.append(verdict)


def _rows(nodes: Iterable[Node], rank: Mapping[str, int], repeated: set[str]) -> Iterator[Row]:
    """Those in which something is wrong unfolded, neighbours of one kind in a line.

    A part stands where its last value is computed: its weights are given long before.
    """
    ordered = sorted(nodes, key=lambda node: rank[node.verdicts[-1].path])
    shortened = [_shortened(node) for node in ordered]
    for (kind, _, _), found in groupby(shortened, key=lambda node: _kind(node, repeated)):
        alike = list(found)
        if kind == "wrong":
            for node in alike:
                below = tuple(_rows(node.parts.values(), rank, repeated))
                yield _row([node], below)
        elif kind == "part":
            yield from (_row([node]) for node in alike)
        else:
            yield _row(alike, again=kind == "again")


def _kind(node: Node, repeated: set[str]) -> tuple[str, Status, str]:
    """What a neighbour has to share for a line with it."""
    stem, dot, number = node.name.rpartition(".")
    numbered = bool(dot) and number.isdecimal()
    if node.wrong:
        bad = [v for v in node.verdicts if v.status in BAD]
        if numbered and node.parts and all(v.path in repeated for v in bad):
            return "again", node.status, stem + _seen(bad, node.name)
        return "wrong", node.status, ""
    if not node.parts or node.status is Status.MISSING:
        return "value", node.status, ""
    return ("block", node.status, stem) if numbered else ("part", node.status, "")


def _seen(bad: Sequence[Verdict], name: str) -> str:
    return " ".join(verdict.path.partition(f"{name}.")[2] for verdict in bad)


def _row(nodes: Sequence[Node], rows: tuple[Row, ...] = (), *, again: bool = False) -> Row:
    verdicts = tuple(verdict for node in nodes for verdict in node.verdicts)
    return Row(tuple(node.name for node in nodes), nodes[0].status, verdicts, rows, again)


def _shortened(node: Node) -> Node:
    """A part with one value in it under one name, as in `embedding.out`."""
    while len(node.parts) == 1:
        (only,) = node.parts.values()
        node = Node(f"{node.name}.{only.name}", only.verdicts, only.parts)
    return node
