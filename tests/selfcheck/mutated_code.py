"""An op's code with one mistake in it, and the values that the line with the mistake computes.

One arithmetic node is changed: a product gets the factor 2, a sum or difference loses a term or has
its sign swapped, a minus goes. What only makes shapes, slices and messages stays as it is.
"""

import ast
import copy
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType

from handformer.formula import Sheet

_PRODUCTS = (ast.Mult, ast.MatMult, ast.Div, ast.Pow)
_SUMS = (ast.Add, ast.Sub)
_APART = (ast.Raise, ast.JoinedStr, ast.Slice, ast.AnnAssign)


@dataclass(frozen=True)
class CodeMutation:
    """A module with a mistake: its line in the source, what it is, and the values concerned."""

    op: ModuleType
    line: str
    what: str
    values: frozenset[str]


def code_mutations(op: ModuleType) -> Iterator[CodeMutation]:
    """Every mutation of the functions of an op's module."""
    source = inspect.getsource(op)
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, function in functions.items():
        for statement in function.body:
            for node in _arithmetic(statement):
                values = _Flow(op.FORMULAS, functions, name, node).values()
                line = f"{node.lineno}: {source.splitlines()[node.lineno - 1].strip()}"
                for what, wrong in _mistakes(node):
                    module = ModuleType(op.__name__)
                    text = ast.unparse(ast.fix_missing_locations(_Exchange(node, wrong).of(tree)))
                    exec(compile(text, f"{op.__file__} with {what}", "exec"), module.__dict__)
                    yield CodeMutation(module, line, f"{what}: {ast.unparse(node)}", values)


def _arithmetic(node: ast.AST) -> Iterator[ast.BinOp | ast.UnaryOp]:
    match node:
        case ast.BinOp(op=op) if isinstance(op, _PRODUCTS + _SUMS):
            yield node
        case ast.UnaryOp(op=ast.USub(), operand=part) if not isinstance(part, ast.Constant):
            yield node
        case ast.AnnAssign(value=ast.AST() as value):
            yield from _arithmetic(value)
    if not isinstance(node, _APART):
        for part in ast.iter_child_nodes(node):
            yield from _arithmetic(part)


def _mistakes(node: ast.BinOp | ast.UnaryOp) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.UnaryOp(operand=part):
            yield "without the minus", part
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            other = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            yield "with the sign swapped", ast.BinOp(left, other, right)
            yield "without the last term", left
            alone = right if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), right)
            yield "without the first term", alone
        case ast.BinOp():
            yield "twice", ast.BinOp(ast.Constant(2), ast.Mult(), node)


class _Exchange(ast.NodeTransformer):
    """The tree with one node exchanged; the tree itself stays."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def of(self, tree: ast.Module) -> ast.AST:
        """A copy of the tree, in which the old node itself is still found."""
        return self.visit(copy.deepcopy(tree, {id(self.old): self.old}))

    def visit(self, node: ast.AST) -> ast.AST:
        """The new node, or the node with its parts visited."""
        return copy.deepcopy(self.new) if node is self.old else self.generic_visit(node)


@dataclass(frozen=True)
class _Flow:
    """Where a node's result goes: through variables and functions, up to the values returned.

    It stops at a value, since the next one's formula takes that value as it is.
    """

    sheet: Sheet
    functions: dict[str, ast.FunctionDef]
    home: str
    node: ast.expr

    def values(self) -> frozenset[str]:
        reached = {self.home}
        while more := {
            name
            for name, function in self.functions.items()
            if name not in reached and _names(function.body) & reached
        }:
            reached |= more
        found = self.through("forward", self.sheet.forward, reached)
        return frozenset(found | self.through("backward", self.sheet.backward, reached))

    def through(self, name: str, results: Iterable[str], reached: set[str]) -> set[str]:
        """The results of one direction that are computed from the node, or by functions reached."""
        dirty, found = reached - {name}, set[str]()
        for statement in _flat(self.functions[name].body) if name in self.functions else ():
            if isinstance(statement, ast.Return):
                returned = _returned(statement, tuple(results))
                found |= {result for result, part in returned if self.concerns(part, dirty)}
            elif self.concerns(statement, dirty):
                changed = _changed(statement)
                found |= changed & {*results}
                dirty |= changed - {*results}
        return found

    def concerns(self, part: ast.AST, dirty: set[str]) -> bool:
        return any(inside is self.node for inside in ast.walk(part)) or bool(_names([part]) & dirty)


def _names(parts: Iterable[ast.AST]) -> set[str]:
    nodes = (node for part in parts for node in ast.walk(part))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The plain statements of a body, in order."""
    for statement in body:
        if isinstance(statement, ast.If | ast.With):
            yield from _flat([*statement.body, *getattr(statement, "orelse", ())])
        else:
            yield statement


def _changed(statement: ast.stmt) -> set[str]:
    """The variables that a statement sets or fills: of a bare call, its arguments."""
    if isinstance(statement, ast.Expr):
        return _names(statement.value.args) if isinstance(statement.value, ast.Call) else set()
    targets = getattr(statement, "targets", None) or [statement.target]  # type: ignore[attr-defined]
    nodes = (node for target in targets for node in ast.walk(target))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _returned(statement: ast.Return, results: tuple[str, ...]) -> list[tuple[str, ast.AST]]:
    """Which part of a return statement gives which result."""
    match statement.value:
        case ast.Call(func=ast.Name(id="Forward" | "Backward"), args=parts, keywords=named):
            placed = zip(results[: len(parts)], parts, strict=True)
            return [*placed, *((part.arg or "", part.value) for part in named)]
        case ast.Call(func=ast.Attribute(attr="_replace"), keywords=named):
            return [(part.arg or "", part.value) for part in named]
    return [(result, statement) for result in results]
