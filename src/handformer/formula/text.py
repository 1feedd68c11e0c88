"""A formula as plain text, in the language itself: parsing the text gives the same tree again."""

from fractions import Fraction
from typing import Any

import numpy as np

from handformer.formula.expression import (
    Call,
    Entry,
    Index,
    Listing,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Rest,
    Scalar,
)

# How tightly an operator binds: that of Python.
_BINDING = {"or": 1, "and": 2, "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3,
            "+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": 7}  # fmt: skip
_LONG = 1e6  # from here on whole numbers are shortened too
_COMPARISON, _SUM, _PRODUCT, _NEGATIVE, _POWER, _ATOM = 3, 4, 5, 6, 7, 9


def number(value: Any, digits: int | None = None) -> str:
    """A number as text: exactly (`digits=None`) or to so many significant digits."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, np.integer, Fraction)):
        return str(value)
    value = float(value)
    if digits is None:
        return repr(value)
    if value.is_integer() and abs(value) < _LONG:
        return str(int(value))
    return f"{value:.{digits}g}"


def plain(node: Node, digits: int | None = None) -> str:
    """The expression as plain text, its numbers to so many significant digits.

    `parse(plain(tree)) == tree` for every tree that `parse` makes.
    """
    return _Writer(digits).write(node)


class _Writer:
    def __init__(self, digits: int | None) -> None:
        self.digits = digits

    def write(self, node: Node) -> str:
        match node:
            case Number(value=value):
                return number(value, self.digits)
            case Index(letter=name) | Scalar(name=name):
                return name
            case Entry(name=name, indices=indices):
                return f"{name}[{','.join(self.write(place) for place in indices)}]"
            case Negative(part=part):
                return "-" + self.right(part, _NEGATIVE)
            case Operation(operator=operator, left=left, right=right):
                return self.operation(operator, left, right)
            case Call(function=function, arguments=arguments):
                return f"{function}({', '.join(self.write(part) for part in arguments)})"
            case Reduction(kind=kind, letters=letters, body=body):
                return f"{kind}({', '.join(letters)}, {self.write(body)})"
            case Listing(kind="sum", terms=(first, *others)):
                rest = (self.right(term, _PRODUCT) for term in others)
                return " + ".join([self.left(first, _SUM), *rest])
            case Listing(kind=kind, terms=terms):
                return f"{kind}({', '.join(self.write(part) for part in terms)})"
            case Rest(count=count, value=value):
                return f"({count} more: {number(value, self.digits)})"
        raise AssertionError(node)

    def operation(self, operator: str, left: Node, right: Node) -> str:
        strength = _BINDING[operator]
        # Comparisons don't chain, powers group to the right, all else to the left.
        first = strength + (strength in (_COMPARISON, _POWER))
        second = strength + (strength != _POWER)
        behind = self.left if strength == _COMPARISON else self.right
        return f"{self.left(left, first)} {operator} {behind(right, second)}"

    def left(self, node: Node, least: int) -> str:
        return f"({self.write(node)})" if _binding(node) < least else self.write(node)

    def right(self, node: Node, least: int) -> str:
        """Behind an operator: `a - (-b)`, though Python could do without."""
        text = self.left(node, least)
        return f"({text})" if text.startswith("-") else text


def _binding(node: Node) -> int:
    match node:
        case Operation(operator=operator):
            return _BINDING[operator]
        case Listing(kind="sum"):
            return _SUM
        case Number(value=Fraction() as value) if value.denominator != 1:
            return _PRODUCT
        case Number(value=value) if value < 0:
            return _NEGATIVE
        case Negative():
            return _NEGATIVE
    return _ATOM
