"""The formula language: index notation in Python's expression syntax, read with `ast`, never run.

    attn[b,t,s] = exp(scores[b,t,s]) / sum(r, exp(scores[b,t,r]))

A name with a subscript is an array (dots lead into parts: `attention.out[b,t,i]`); one letter of
the legend in `axes` is an index; any other bare name is a number of the config (`d_k`, `eps`) or a
value without axes (`loss`). So the size `d_k` and the gradient of k, `d_k[b,g,s,c]`, never meet.
`sum`, `max` and `mean` run over the letters named first: `sum(b, t, x[b,t,i])`.
"""

import ast
import threading

from handformer.axes import LEGEND
from handformer.formula.expression import (
    FUNCTIONS,
    REDUCTIONS,
    Call,
    Entry,
    FormulaError,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
)

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=", ast.And: "and", ast.Or: "or",
}  # fmt: skip

# Python 3.11's own parser counts its depth wrongly where two threads are in it.
_ONE_AT_A_TIME = threading.Lock()
DEEPEST = 400  # parts inside each other; what walks a tree goes a step down for each


def parse(text: str, start: int = 0) -> Node:
    """Read the expression that begins at `start`; columns count from the beginning of `text`.

    Raises
    ------
    FormulaError
        for anything outside the language, pointing at it
    """
    source = text[start:].strip()
    start = text.index(source, start)
    try:
        with _ONE_AT_A_TIME:
            tree = ast.parse(source, mode="eval").body
        if _depth(tree) > DEEPEST:
            raise FormulaError(text, start, "this can't be read: nested too deeply")
        return _Reader(text, start).read(tree)
    except SyntaxError as error:
        at = error.offset - 1 if error.offset else len(source)  # 0 stands for the end
        raise FormulaError(text, start + at, f"this can't be read: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise FormulaError(text, start, "this can't be read: nested too deeply") from None


def _depth(tree: ast.AST) -> int:
    """How many parts lie inside each other."""
    depth, level = 0, [tree]
    while level and depth <= DEEPEST:
        depth, level = depth + 1, [part for one in level for part in ast.iter_child_nodes(one)]
    return depth


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self.text, self.start = text, start
        self.bytes = text[start:].encode()

    def column(self, at: ast.AST) -> int:
        """Where a part begins in the whole text; `ast` counts bytes."""
        return self.start + len(self.bytes[: getattr(at, "col_offset", 0)].decode())

    def fail(self, at: ast.AST, reason: str) -> FormulaError:
        return FormulaError(self.text, self.column(at), reason)

    def read(self, at: ast.AST) -> Node:
        column = self.column(at)
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
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return self.join(at, operator, self.read(left), self.read(right))
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if (
                type(operator) in _OPERATORS
            ):
                return self.join(at, operator, self.read(left), self.read(right))
            case ast.Compare(ops=[_, _, *_]):
                raise self.fail(at, "join two comparisons with `and`")
            case ast.BoolOp(op=operator, values=[first, *rest]):
                node = self.read(first)
                for part in rest:
                    node = self.join(at, operator, node, self.read(part))
                return node
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(at, name, arguments)
        raise self.fail(at, f"{type(at).__name__} isn't part of the formula language")

    def join(self, at: ast.AST, operator: ast.AST, left: Node, right: Node) -> Node:
        return Operation(_OPERATORS[type(operator)], left, right, column=self.column(at))

    def dotted(self, at: ast.AST) -> str:
        match at:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=value, attr=name):
                return f"{self.dotted(value)}.{name}"
        raise self.fail(at, "expected the name of an array")

    def call(self, at: ast.AST, name: str, arguments: list[ast.expr]) -> Node:
        if name in REDUCTIONS:
            if len(arguments) < 2:
                raise self.fail(at, f"{name} needs an index and a body: {name}(i, x[i])")
            *over, body = arguments
            letters: list[str] = []
            for place in over:
                if not (isinstance(place, ast.Name) and place.id in LEGEND):
                    raise self.fail(place, f"{name} runs over axis letters")
                letters.append(place.id)
            return Reduction(name, tuple(letters), self.read(body), column=self.column(at))
        if name not in FUNCTIONS:
            known = ", ".join((*REDUCTIONS, *FUNCTIONS))
            raise self.fail(at, f"unknown function {name}; there are {known}")
        if len(arguments) != FUNCTIONS[name]:
            raise self.fail(at, f"{name} takes {FUNCTIONS[name]} arguments, not {len(arguments)}")
        inside = tuple(self.read(part) for part in arguments)
        return Call(name, inside, column=self.column(at))
