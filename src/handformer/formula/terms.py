"""What an entry is the sum of: the terms of its formula's outermost sums, each with its value.

    scores[0,3] = sum(c, q[0,c] * k[3,c]) / sqrt(d_k)     q[0,0] * k[3,0] / sqrt(d_k), ...
    d_x[0]      = rstd * (d_x_hat[0] - mean(j, d_x_hat[j]))    rstd * d_x_hat[0],
                                                          -(rstd * (d_x_hat[0] / 2)), ...

What multiplies or divides a sum is put to each of its terms, so that the terms add up to the entry
itself. An entry that isn't a sum is one term, the whole. What stands inside a function, a power or
a divisor isn't taken apart: it doesn't add up. Terms that are 0 stand with the others.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from handformer.formula.expand import places, write_out
from handformer.formula.expression import (
    Call,
    Index,
    Negative,
    Node,
    Number,
    Operation,
    Reduction,
    walk,
)
from handformer.formula.located import Located
from handformer.formula.sizes import fold
from handformer.formula.substitute import Place, fix


@dataclass(frozen=True)
class Term:
    """One term: its expression, its value, its share of all magnitudes, and what it runs over.

    `letters` says where each letter of its sum stands; `pattern` is the term before it stood there.
    """

    node: Node
    value: float
    share: float
    letters: dict[str, Place]
    pattern: Node


@dataclass(frozen=True)
class Terms:
    """The greatest terms by magnitude, and what the others come to, however many there are."""

    greatest: tuple[Term, ...]
    others: int
    rest: float


_Strand = tuple[tuple[str, ...], Node]


def terms(located: Located, most: int) -> Terms:
    """The terms that add up to an entry, the greatest `most` of them one by one."""
    with np.errstate(all="ignore"):
        strands = _strands(located, located.body, frozenset(), whole=True)
        values = [
            located.over(body, letters).astype(np.float64).ravel() for letters, body in strands
        ]
        every = np.concatenate(values)
        starts = np.cumsum([0, *(part.size for part in values)])
        weight = float(np.abs(every).sum())
        order = np.argsort(-np.abs(every), kind="stable")
        shown: list[Term] = []
        for at in order[:most]:
            if every[at] == 0 and every.size > 1:
                break  # these add nothing: what `where` leaves out, what a mask hides
            strand = int(np.searchsorted(starts, at, side="right")) - 1
            letters, body = strands[strand]
            lengths = [located.sizes[letter] for letter in letters]
            (stands,) = places(letters, lengths, np.array([at - starts[strand]]))
            node = write_out(located, fix(body, stands), most)
            value = float(every[at])
            share = abs(value) / weight if weight else 0.0
            shown.append(Term(node, value, share, stands, body))
    others = order[len(shown) :]
    return Terms(tuple(shown), others.size, float(every[np.sort(others)].sum()))


def _strands(
    here: Located, node: Node, running: frozenset[str], *, whole: bool = False
) -> list[_Strand]:
    """Parts that add up to a node, each with the letters that it runs over.

    A plus is taken apart if it is the `whole` formula's, or a sum stands in it.
    """
    match node:
        case Call(function="where", arguments=(condition, yes, no)) if _stands(condition, running):
            taken = yes if here.over(condition, ()) else no
            return _strands(here, taken, running, whole=whole)
        case Negative(part=part) if whole or _has_sum(part):
            return _each(_strands(here, part, running, whole=whole), Negative)
        case Operation(operator="+" | "-" as sign, left=left, right=right) if whole or _has_sum(
            node
        ):
            behind = _strands(here, right, running, whole=whole)
            behind = _each(behind, Negative) if sign == "-" else behind
            return _strands(here, left, running, whole=whole) + behind
        case Operation(operator="*" | "/", left=left) if _has_sum(left):
            found = _strands(here, left, running)
            return [(letters, replace(node, left=body)) for letters, body in found]
        case Operation(operator="*", right=right) if _has_sum(right):
            found = _strands(here, right, running)
            return [(letters, replace(node, right=body)) for letters, body in found]
        case Reduction(kind="sum" | "mean", letters=letters, body=body):
            inner = _strands(here, body, running | {*letters})
            found = [((*letters, *more), term) for more, term in inner]
            if node.kind == "sum":
                return found
            count = Number(prod(fold(here.sizes[letter] for letter in letters)))
            return [(over, Operation("/", term, count)) for over, term in found]
    return [((), node)]


def _each(strands: list[_Strand], change: type[Negative]) -> list[_Strand]:
    return [(letters, change(body)) for letters, body in strands]


def _has_sum(node: Node) -> bool:
    """Whether a sum stands where its terms can be had one by one."""
    match node:
        case Reduction(kind="sum" | "mean"):
            return True
        case Negative(part=part) | Operation(operator="/", left=part):
            return _has_sum(part)
        case Operation(operator="+" | "-" | "*", left=left, right=right):
            return _has_sum(left) or _has_sum(right)
        case Call(function="where", arguments=(_, yes, no)):
            return _has_sum(yes) or _has_sum(no)
    return False


def _stands(condition: Node, running: frozenset[str]) -> bool:
    """Whether a condition is the same for all terms."""
    return not any(isinstance(part, Index) and part.letter in running for part in walk(condition))
