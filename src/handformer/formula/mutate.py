"""Mutations: a formula with one mistake in it, of the kinds that people make.

A check that doesn't notice them checks nothing. So every formula of every op is mutated in the
tests, one place after another, and each mutation must be seen, and seen at that value.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from handformer.formula.expression import (
    Call,
    Entry,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
    each,
    parts,
)
from handformer.formula.sheet import Formula
from handformer.formula.text import plain

FACTOR, TERM, SIGN = "wrong factor", "dropped term", "swapped sign"
BOUNDARY, CASES, SIZE = "wrong boundary", "swapped cases", "wrong size"

_BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_NO_NUMBER = (*_BOUNDARIES, "and", "or")

Edit = tuple[str, str, Node]


@dataclass(frozen=True)
class Mutation:
    """A formula with one mistake: its kind, what was done in a few words, the edited formula."""

    kind: str
    what: str
    formula: Formula


def mutations(formula: Formula, *, sizes: Collection[str] = ()) -> Iterator[Mutation]:
    """Every formula that one mistake makes of this one.

    Parameters
    ----------
    sizes
        names of the config's sizes; each of them in the formula is exchanged for each other one
    """
    body = formula.body
    edits = [*_doubled(body), *_edits(body, sizes)]
    for kind, what, edited in edits:
        wrong = Formula.build(formula.name, formula.axes, edited, kept=formula.kept)
        yield Mutation(kind, what, wrong)


def _edits(node: Node, sizes: Collection[str]) -> Iterator[Edit]:
    """Every edit at a node or below it; an entry's places stay as they are."""
    yield from _here(node, sizes)
    if isinstance(node, Entry):
        return
    for place, part in enumerate(parts(node)):
        inside = [*_edits(part, sizes), *(_doubled(part) if _is_term(node, place) else ())]
        for kind, what, edited in inside:
            yield kind, what, _exchange(node, place, edited)


def _here(node: Node, sizes: Collection[str]) -> Iterator[Edit]:
    match node:
        case Operation(operator="+" | "-" as operator, left=left, right=right):
            other = "-" if operator == "+" else "+"
            yield SIGN, f"{other} before {plain(right)}", Operation(other, left, right)
            yield TERM, f"without the term {plain(right)}", left
            alone = right if operator == "+" else Negative(right)
            yield TERM, f"without the term {plain(left)}", alone
        case Operation(operator="*", left=left, right=right):
            yield FACTOR, f"without the factor {plain(left)}", right
            yield FACTOR, f"without the factor {plain(right)}", left
        case Operation(operator="/", left=left, right=right):
            yield FACTOR, f"not divided by {plain(right)}", left
            yield FACTOR, f"times {plain(right)}, not divided by it", Operation("*", left, right)
        case Operation(operator="and" | "or", left=left, right=right):
            yield TERM, f"without the condition {plain(right)}", left
            yield TERM, f"without the condition {plain(left)}", right
        case Operation(operator=operator, left=left, right=right) if operator in _BOUNDARIES:
            wrong = Operation(_BOUNDARIES[operator], left, right)
            yield BOUNDARY, f"{plain(wrong)}, not {plain(node)}", wrong
        case Negative(part=part):
            yield SIGN, f"without the minus before {plain(part)}", part
        case Call(function="where", arguments=(condition, yes, no)):
            what = f"{plain(no)}, not {plain(yes)}, if {plain(condition)}"
            yield CASES, what, Call("where", (condition, no, yes))
        case Reduction(kind="mean", letters=letters, body=body):
            what = f"the sum, not the mean, of {plain(body)}"
            yield FACTOR, what, Reduction("sum", letters, body)
        case Scalar(name=name) if name in sizes:
            for other in sizes:
                if other != name:
                    yield SIZE, f"{other}, not {name}", Scalar(other)


def _is_term(node: Node, place: int) -> bool:
    """Whether a factor before this part of a node would be a mistake of its own."""
    match node:
        case Operation(operator=operator):
            return operator in ("+", "-") or (operator == "**" and place == 1)
        case Call(function="where"):
            return place > 0
    return isinstance(node, Call)


def _doubled(node: Node) -> Iterator[Edit]:
    truth = isinstance(node, Operation) and node.operator in _NO_NUMBER
    if not truth and node not in (Number(0), Scalar("inf"), Negative(Scalar("inf"))):
        yield FACTOR, f"twice {plain(node)}", Operation("*", Number(2), node)


def _exchange(node: Node, place: int, new: Node) -> Node:
    """The node with another part at this place."""
    places = iter(range(len(parts(node))))
    return each(node, lambda part: new if next(places) == place else part)
