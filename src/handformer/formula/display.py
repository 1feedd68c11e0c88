"""Where a formula in two dimensions needs parentheses; LaTeX and MathML only say how things look.

Fractions, roots and the brackets of a rounded quotient hold their parts together without
parentheses; a sum sign reaches to the right as far as a product does, and `where` to its very end.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction

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
from handformer.formula.names import Shown, shown
from handformer.formula.text import number

_NOTHING, _OR, _AND, _COMPARISON, _REMAINDER, _SUM, _PRODUCT, _POWER, _ATOM = range(9)
_BINDING = {"or": _OR, "and": _AND, "%": _REMAINDER, "+": _SUM, "-": _SUM, "*": _PRODUCT,
            "**": _POWER, "/": _ATOM, "//": _ATOM}  # fmt: skip
# The words that stand in formulas; other languages have their own.
WORDS = {"if": "if", "otherwise": "otherwise", "more": "more"}
_POWER_OF_TEN = re.compile(r"(-?[\d.]+)e([+-]?\d+)")


class Display(ABC):
    """Writes a tree; what is abstract is the notation."""

    def __init__(self, digits: int | None = None, words: Mapping[str, str] = WORDS) -> None:
        """`digits`: the significant digits of numbers, all of them where None."""
        self.digits, self.words = digits, words

    @abstractmethod
    def number(self, digits: str, exponent: int | None) -> str:
        """Decimal digits, times a power of ten if there is one."""

    @abstractmethod
    def name(self, name: Shown, places: Sequence[str] = ()) -> str:
        """A letter, a word or a Greek letter, with d, hat, subscript and the places of an entry."""

    @abstractmethod
    def group(self, inside: str) -> str:
        """In parentheses."""

    @abstractmethod
    def negative(self, part: str) -> str:
        """Minus a part."""

    @abstractmethod
    def join(self, operator: str, *parts: str) -> str:
        """Parts with an operator between them; `.` is the product sign that is visible."""

    @abstractmethod
    def fraction(self, above: str, below: str) -> str:
        """One part over another."""

    @abstractmethod
    def floor(self, left: str, right: str) -> str:
        """A quotient rounded down."""

    @abstractmethod
    def power(self, base: str, exponent: str) -> str:
        """A part to the power of another."""

    @abstractmethod
    def root(self, part: str) -> str:
        """The square root of a part."""

    @abstractmethod
    def cases(self, condition: str, yes: str, no: str) -> str:
        """One part if a condition holds, else another."""

    @abstractmethod
    def call(self, function: str, arguments: Sequence[str]) -> str:
        """A function of its arguments."""

    @abstractmethod
    def reduction(self, kind: str, letters: Sequence[str], body: str) -> str:
        """A sum sign, or a word, over some letters, and what it runs over."""

    @abstractmethod
    def rest(self, count: str, value: str) -> str:
        """What so many terms come to that aren't written out."""

    def write(self, node: Node) -> str:
        """The notation of a tree."""
        match node:
            case Number(value=Fraction() as value) if value.denominator != 1:
                above, below = Number(abs(value.numerator)), Number(value.denominator)
                whole = self.fraction(self.write(above), self.write(below))
                return self.negative(whole) if value < 0 else whole
            case Number(value=value):
                return self._number(number(value, self.digits))
            case Index(letter=letter):
                return self.name(shown(letter, bare=True))
            case Scalar(name=name):
                return self.name(shown(name, bare=True))
            case Entry(name=name, indices=indices):
                return self.name(shown(name, bare=False), [self.write(p) for p in indices])
            case Negative(part=part):
                return self.negative(self._part(part, _PRODUCT))
            case Operation():
                return self._operation(node)
            case Call(function="sqrt", arguments=(part,)):
                return self.root(self.write(part))
            case Call(function="where", arguments=(condition, yes, no)):
                return self.cases(self.write(condition), self.write(yes), self.write(no))
            case Call(function=function, arguments=arguments):
                return self.call(function, [self.write(part) for part in arguments])
            case Reduction(kind="sum", letters=letters, body=body):
                cases = isinstance(body, Call) and body.function == "where"
                inside = self.write(body) if cases else self._part(body, _PRODUCT)
                return self.reduction("sum", letters, inside)
            case Reduction(kind=kind, letters=letters, body=body):
                return self.reduction(kind, letters, self.group(self.write(body)))
            case Listing(kind="sum", terms=(first, *others)):
                rest = (self._part(term, _SUM) for term in others)
                return self.join("+", self._left(first, _SUM), *rest)
            case Listing(kind=kind, terms=terms):
                return self.call(kind, [self.write(part) for part in terms])
            case Rest(count=count, value=value):
                return self.rest(str(count), self.write(Number(value)))
        raise AssertionError(node)

    def _number(self, text: str) -> str:
        if powers := _POWER_OF_TEN.fullmatch(text):
            return self.number(powers[1], int(powers[2]))
        word = text.removeprefix("-")
        if not word.isalpha():
            return self.number(text, None)
        inside = self.name(shown(word, bare=True))  # infinity, a truth value
        return inside if text == word else self.negative(inside)

    def _operation(self, node: Operation) -> str:
        operator, left, right = node.operator, node.left, node.right
        if operator == "/":
            return self.fraction(self.write(left), self.write(right))
        if operator == "//":
            return self.floor(self._left(left, _PRODUCT), self._part(right, _POWER))
        if operator == "**":
            return self.power(self._enclosed(left, self._is_base(left)), self.write(right))
        if operator == "%":
            return self.join("%", self._left(left, _PRODUCT), self._part(right, _POWER))
        strength = _BINDING.get(operator, _COMPARISON)
        sign = "." if operator == "*" and _begins_with_number(right) else operator
        if strength == _COMPARISON:
            second = self._enclosed(right, self._binding(right) > _COMPARISON)
            return self.join(operator, self._left(left, _REMAINDER), second)
        least = strength + (operator == "-")  # a + (b - c) is a + b - c
        return self.join(sign, self._left(left, strength), self._part(right, least))

    def _part(self, node: Node, least: int) -> str:
        """Behind an operator: a minus there needs parentheses, and so does what binds less."""
        return self._enclosed(node, self._binding(node) >= least and not _begins_with_minus(node))

    def _left(self, node: Node, least: int) -> str:
        """Before an operator: what reaches on to the right would swallow it."""
        return self._enclosed(node, self._binding(node) >= least and _reach(node) > least)

    def _is_base(self, node: Node) -> bool:
        match node:
            case Number(value=value):
                whole = not isinstance(value, Fraction) or value.denominator == 1
                return bool(value >= 0) and whole and self._binding(node) == _ATOM
            case Call(function=function):
                return function != "where"
        return isinstance(node, Index | Scalar | Entry)

    def _enclosed(self, node: Node, alone: bool) -> str:
        return self.write(node) if alone else self.group(self.write(node))

    def _binding(self, node: Node) -> int:
        match node:
            case Operation(operator=operator):
                return _BINDING.get(operator, _COMPARISON)
            case Number(value=value) if _POWER_OF_TEN.fullmatch(number(value, self.digits)):
                return _PRODUCT
            case Negative() | Reduction(kind="sum"):
                return _PRODUCT
            case Listing(kind="sum"):
                return _SUM
            case Call(function="where"):
                return _NOTHING
        return _ATOM


def _begins_with_minus(node: Node) -> bool:
    match node:
        case Negative():
            return True
        case Number(value=value) | Rest(value=value):
            return bool(value < 0)
        case Operation(operator=operator, left=left) if operator not in ("/", "//", "**"):
            return _begins_with_minus(left)
        case Listing(kind="sum", terms=(first, *_)):
            return _begins_with_minus(first)
    return False


def _begins_with_number(node: Node) -> bool:
    match node:
        case Number():
            return True
        case Operation(operator="*" | "/" | "**", left=left):
            return _begins_with_number(left)
    return False


def _reach(node: Node) -> int:
    """How tightly a following operator must bind so that the right end of a node swallows it."""
    match node:
        case Call(function="where") | Reduction(kind="sum", body=Call(function="where")):
            return _NOTHING
        case Reduction(kind="sum"):
            return _PRODUCT
        case Operation(operator="*" | "+" | "-", right=part) | Negative(part=part):
            within = isinstance(part, Call) and part.function == "where"
            return _ATOM if within else _reach(part)  # in parentheses
        case Listing(kind="sum", terms=(*_, part)):
            return _reach(part)
    return _ATOM
