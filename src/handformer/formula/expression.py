"""The formula language: index notation in Python's expression syntax, parsed into a small tree.

    attn[b,t,s] = exp(scores[b,t,s]) / sum(r, exp(scores[b,t,r]))

A name with a subscript is an array (dots lead into parts: `attention.out[b,t,i]`); one letter of the
legend in `axes` is an index; any other bare name is a number of the config (`d_k`, `eps`) or an array
of no axes (`loss`). So the size `d_k` and the gradient of k, `d_k[b,g,s,c]`, never meet.
`sum`, `max` and `mean` run over the letters named first: `sum(b, t, x[b,t,i])`.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from handformer.axes import LEGEND

REDUCTIONS = ("sum", "max", "mean")
FUNCTIONS = {"exp": 1, "log": 1, "sqrt": 1, "tanh": 1, "erf": 1, "sin": 1, "cos": 1, "where": 3}
CONSTANTS = ("pi", "inf")
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=", ast.And: "and", ast.Or: "or",
}  # fmt: skip


class FormulaError(ValueError):
    """A formula that can't be read or evaluated; the message points at the column."""

    def __init__(self, text: str, column: int, reason: str) -> None:
        super().__init__(f"{reason}\n    {text}\n    {' ' * column}^")
        self.column = column


@dataclass(frozen=True)
class Node:
    """A part of an expression; `column` says where it stands in the text."""

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


def parts(node: Node) -> Iterator[Node]:
    """The parts directly below a node."""
    for slot in fields(node):
        value = getattr(node, slot.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (part for part in value if isinstance(part, Node))


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it, parents first."""
    yield node
    for part in parts(node):
        yield from walk(part)


def each(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same node with each of its parts put through `change`."""
    changed: dict[str, Any] = {}
    for slot in fields(node):
        value = getattr(node, slot.name)
        if isinstance(value, Node):
            changed[slot.name] = change(value)
        elif isinstance(value, tuple):
            changed[slot.name] = tuple(change(p) if isinstance(p, Node) else p for p in value)
    return replace(node, **changed)


def rewrite(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same tree with `change` applied to every node, parts first."""
    return change(each(node, lambda part: rewrite(part, change)))


def parse(text: str) -> Node:
    """Read an expression.

    Raises
    ------
    FormulaError
        for anything outside the language, pointing at it
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise FormulaError(text, (error.offset or 1) - 1, "this can't be read") from None
    return _Reader(text).read(tree)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, at: ast.AST, reason: str) -> FormulaError:
        return FormulaError(self.text, getattr(at, "col_offset", 0), reason)

    def read(self, at: ast.AST) -> Node:
        column = getattr(at, "col_offset", 0)
        match at:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return Number(value, column=column)
            case ast.Name(id=name):
                return (Index if name in LEGEND else Scalar)(name, column=column)
            case ast.Attribute():
                return Scalar(self.dotted(at), column=column)
            case ast.Subscript(value=value, slice=index):
                places = index.elts if isinstance(index, ast.Tuple) else [index]
                name = self.dotted(value)
                return Entry(name, tuple(self.read(place) for place in places), column=column)
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return Negative(self.read(part), column=column)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                return self.join(operator, self.read(left), self.read(right))
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if (
                type(operator) in OPERATORS
            ):
                return self.join(operator, self.read(left), self.read(right))
            case ast.BoolOp(op=operator, values=[first, *rest]):
                node = self.read(first)
                for part in rest:
                    node = self.join(operator, node, self.read(part))
                return node
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(at, name, arguments)
        raise self.fail(at, f"{type(at).__name__} isn't part of the formula language")

    def join(self, operator: ast.AST, left: Node, right: Node) -> Node:
        return Operation(OPERATORS[type(operator)], left, right, column=left.column)

    def dotted(self, at: ast.AST) -> str:
        match at:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=value, attr=name):
                return f"{self.dotted(value)}.{name}"
        raise self.fail(at, "expected the name of an array")

    def call(self, at: ast.AST, name: str, arguments: list[ast.expr]) -> Node:
        column = getattr(at, "col_offset", 0)
        if name in REDUCTIONS:
            if len(arguments) < 2:
                raise self.fail(at, f"{name} needs an index and a body: {name}(i, x[i])")
            *over, body = arguments
            letters = []
            for letter in over:
                if not (isinstance(letter, ast.Name) and letter.id in LEGEND):
                    raise self.fail(letter, f"{name} runs over axis letters")
                letters.append(letter.id)
            return Reduction(name, tuple(letters), self.read(body), column=column)
        if name not in FUNCTIONS:
            known = ", ".join((*REDUCTIONS, *FUNCTIONS))
            raise self.fail(at, f"unknown function {name}; there are {known}")
        if len(arguments) != FUNCTIONS[name]:
            raise self.fail(at, f"{name} takes {FUNCTIONS[name]} arguments, not {len(arguments)}")
        return Call(name, tuple(self.read(part) for part in arguments), column=column)
