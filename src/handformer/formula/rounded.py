"""An entry's arithmetic with short numbers put in; the formula's own numbers stay whole."""

from handformer.formula.expression import Node, Number, Rest, rewrite, walk
from handformer.formula.sheet import Formula

DIGITS = 4


def rounded(written: Node, formula: Formula) -> Node:
    """The numbers in an entry's arithmetic to four digits: 0.7071, but 0.044715 as the formula."""
    own = {node.value for node in walk(formula.body) if isinstance(node, Number)}

    def change(node: Node) -> Node:
        if isinstance(node, Rest):
            return Rest(node.count, float(f"{node.value:.{DIGITS}g}"))
        if not isinstance(node, Number) or not isinstance(node.value, float):
            return node
        short = float(f"{node.value:.{DIGITS}g}")
        if short.is_integer():
            return Number(int(short))
        return node if node.value in own else Number(short)

    return rewrite(written, change)
