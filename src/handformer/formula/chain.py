"""How many roundings an entry goes through: what a tolerance counts before any number is known.

A chain is counted along the formula. A factor passes all its roundings on to the product, so those
of both sides add up; of a sum only the longer side counts, and adding n terms one after the other
rounds the first of them n - 1 times; n are counted. An elementary function is good to 4 roundings,
and so is a power.

Source     Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, section 3.4: the
           counter <k> of relative errors, with <j><k> = <j + k>.
"""

from collections.abc import Mapping
from math import prod

from handformer.axes import SIZES
from handformer.formula.expression import (
    Call,
    Entry,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    Scalar,
    walk,
)
from handformer.formula.sheet import Formula, Sheet

FUNCTION = 4  # what a function may be off, in units of a rounding: libraries promise 1 to 4
_ARITHMETIC = {"+", "-", "*", "/", "**"}


def roundings(sheet: Sheet, formula: Formula, sizes: Mapping[str, int]) -> int:
    """The roundings on the longest way from the kept values into an entry of this formula.

    Parameters
    ----------
    sheet
        where the abbreviations stand that the formula uses
    sizes
        how far each letter runs; one that only an abbreviation runs over may be missing, and runs
        as far as its kin (`r` as far as `s`)
    """
    return _Counter(sheet, sizes).count(formula.body)


class _Counter:
    def __init__(self, sheet: Sheet, sizes: Mapping[str, int]) -> None:
        self.sheet, self.sizes = sheet, sizes

    def count(self, node: Node) -> int:
        match node:
            case Number(value=value):
                return int(isinstance(value, float))
            case Index():
                return 0
            case Entry(name=name) | Scalar(name=name):
                short = name in self.sheet and not self.sheet[name].kept
                return self.count(self.sheet[name].body) if short else 0
            case Negative(part=part):
                return self.count(part)
            case Operation(operator=operator, left=left, right=right):
                return self.joined(operator, left, right)
            case Call(function="where", arguments=(_, yes, no)):
                return max(self.count(yes), self.count(no))
            case Call(arguments=(part,)):
                return self.count(part) + FUNCTION
            case Reduction(kind="max", body=body):
                return self.count(body)
            case Reduction(kind=kind, letters=letters, body=body):
                return self.count(body) + prod(map(self.size, letters)) + (kind == "mean")
        raise AssertionError(node)

    def joined(self, operator: str, left: Node, right: Node) -> int:
        if operator not in _ARITHMETIC or (operator != "/" and _whole(left) and _whole(right)):
            return 0
        first, second = self.count(left), self.count(right)
        if operator in "+-":
            return max(first, second) + 1
        if operator == "**":
            times = int(right.value) if isinstance(right, Number) else 1
            return times * first + second + FUNCTION
        return first + second + 1

    def size(self, letter: str) -> int:
        """How far a letter runs; if that isn't known, as far as its kin, or else the farthest."""
        if letter in self.sizes:
            return self.sizes[letter]
        kin = "s" if letter in "ru" else letter
        near = [n for known, n in self.sizes.items() if SIZES.get(known) == SIZES.get(kin)]
        return max(near or self.sizes.values(), default=1)


def _whole(node: Node) -> bool:
    """Whether a part is index arithmetic: nothing but whole numbers and places."""
    return not any(
        isinstance(part, Entry | Scalar | Call)
        or (isinstance(part, Number) and isinstance(part.value, float))
        for part in walk(node)
    )
