"""An entry's arithmetic with short numbers put in; the formula's own numbers stay whole."""

from handformer.examples.show.arrays import DIGITS
from handformer.formula import Expansion
from handformer.formula.expression import Node, Number, rewrite, walk


def rounded(entry: Expansion) -> Node:
    """The numbers of an entry to four digits: 0.7071, but 0.044715 where the formula says so."""
    own = {node.value for node in walk(entry.formula.body) if isinstance(node, Number)}

    def change(node: Node) -> Node:
        if not isinstance(node, Number) or not isinstance(node.value, float):
            return node
        short = float(f"{node.value:.{DIGITS}g}")
        if short.is_integer():
            return Number(int(short))
        return node if node.value in own else Number(short)

    return rewrite(entry.numbers, change)
