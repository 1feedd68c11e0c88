"""The tree of a formula: a few kinds of frozen nodes, and how to walk and rewrite them.

`parse` makes a tree from text; `expand` adds the two kinds at the end, which text can't hold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

# How many arguments a function takes.
FUNCTIONS = {"exp": 1, "log": 1, "sqrt": 1, "tanh": 1, "erf": 1, "sin": 1, "cos": 1, "where": 3}
REDUCTIONS = ("sum", "max", "mean")


class FormulaError(ValueError):
    """A formula that can't be read or evaluated: the reason, the text, and a pointer into it."""

    def __init__(self, text: str, column: int, reason: str) -> None:
        """`column` counts characters of `text` from 0."""
        super().__init__(f"{reason}\n    {text}\n    {' ' * column}^")
        self.text, self.column, self.reason = text, column, reason


@dataclass(frozen=True)
class Node:
    """A part of an expression; `column` says where it stands in the text (-1: nowhere)."""

    column: int = field(default=-1, kw_only=True, compare=False)


@dataclass(frozen=True)
class Number(Node):
    """A number, written in the formula or put in by `expand`."""

    value: Any


@dataclass(frozen=True)
class Index(Node):
    """An axis letter used as a number: the place along that axis."""

    letter: str


@dataclass(frozen=True)
class Scalar(Node):
    """A number of the config, a constant, or a value without axes."""

    name: str


@dataclass(frozen=True)
class Entry(Node):
    """One entry of an array: `x[b, t, h*d_k + c]`."""

    name: str
    indices: tuple[Node, ...]


@dataclass(frozen=True)
class Operation(Node):
    """Two parts joined by an arithmetic, comparing or logical operator."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Negative(Node):
    """Minus a part."""

    part: Node


@dataclass(frozen=True)
class Call(Node):
    """An elementary function, or `where(condition, yes, no)`."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Reduction(Node):
    """`sum`, `max` or `mean` of the body over one or several indices."""

    kind: str
    letters: tuple[str, ...]
    body: Node


@dataclass(frozen=True)
class Listing(Node):
    """A `sum` or `max` written out: its terms one by one, however many."""

    kind: str
    terms: tuple[Node, ...]


@dataclass(frozen=True)
class Rest(Node):
    """The terms of a listing that aren't written out: how many, and what they come to."""

    count: int
    value: float


def parts(node: Node) -> tuple[Node, ...]:
    """The parts directly below a node, in the order of the text."""
    match node:
        case Operation(left=left, right=right):
            return left, right
        case Entry(indices=inside) | Call(arguments=inside) | Listing(terms=inside):
            return inside
        case Negative(part=part) | Reduction(body=part):
            return (part,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it, parents first, in the order of the text."""
    waiting = [node]
    while waiting:
        yield (node := waiting.pop())
        waiting += reversed(parts(node))


def free(node: Node) -> frozenset[str]:
    """The letters that a part depends on: those in it that nothing inside runs over."""
    match node:
        case Index(letter=letter):
            return frozenset({letter})
        case Reduction(letters=over, body=body):
            return free(body) - {*over}
    return frozenset[str]().union(*(free(part) for part in parts(node)))


def each(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same node with each of its parts put through `change`."""
    match node:
        case Operation(left=left, right=right):
            return replace(node, left=change(left), right=change(right))
        case Entry(indices=inside):
            return replace(node, indices=tuple(change(part) for part in inside))
        case Call(arguments=inside):
            return replace(node, arguments=tuple(change(part) for part in inside))
        case Listing(terms=inside):
            return replace(node, terms=tuple(change(part) for part in inside))
        case Negative(part=part):
            return replace(node, part=change(part))
        case Reduction(body=body):
            return replace(node, body=change(body))
    return node


def rewrite(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same tree with `change` applied to every node, parts first."""
    return change(each(node, lambda part: rewrite(part, change)))
