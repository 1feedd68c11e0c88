"""A formula as lists, for programs in other languages: what JSON can hold.

    sum(c, q[t,c] * 2)    ["reduction", "sum", ["c"], ["op", "*", ["entry", "q", [["index", "t"],
                          ["index", "c"]]], ["number", 2]]]

    a number           ["number", value]
    a letter           ["index", letter]
    a bare name        ["scalar", name]
    an entry           ["entry", name, [place, ...]]
    an operator        ["op", operator, left, right]
    minus              ["negative", part]
    a function         ["call", name, [argument, ...]]
    a reduction        ["reduction", kind, [letter, ...], body]
    one written out    ["list", kind, [term, ...]]
    its other terms    ["rest", count, value]

JSON has no number for what isn't finite: it stands as one of the strings "inf", "-inf", "nan".
"""

from fractions import Fraction
from math import isfinite
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
from handformer.formula.sheet import Sheet


def encode(node: Node) -> list[Any]:
    """A tree as nested lists."""
    match node:
        case Number(value=Fraction() as value) if value.denominator != 1:
            return ["op", "/", ["number", value.numerator], ["number", value.denominator]]
        case Number(value=value):
            return ["number", finite(value)]
        case Index(letter=name):
            return ["index", name]
        case Scalar(name=name):
            return ["scalar", name]
        case Entry(name=name, indices=indices):
            return ["entry", name, [encode(place) for place in indices]]
        case Operation(operator=operator, left=left, right=right):
            return ["op", operator, encode(left), encode(right)]
        case Negative(part=part):
            return ["negative", encode(part)]
        case Call(function=function, arguments=arguments):
            return ["call", function, [encode(part) for part in arguments]]
        case Reduction(kind=kind, letters=letters, body=body):
            return ["reduction", kind, list(letters), encode(body)]
        case Listing(kind=kind, terms=terms):
            return ["list", kind, [encode(term) for term in terms]]
        case Rest(count=count, value=value):
            return ["rest", count, finite(value)]
    raise AssertionError(node)


def encode_sheet(sheet: Sheet) -> list[dict[str, Any]]:
    """Every formula of a sheet: its name, axes, whether it is kept, its text and its tree."""
    return [
        {
            "name": formula.name,
            "axes": list(formula.axes),
            "kept": formula.kept,
            "text": repr(formula),
            "body": encode(formula.body),
        }
        for formula in sheet
    ]


def finite(value: Any) -> Any:
    """A number as JSON knows it; a string where it isn't finite."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Fraction):
        value = int(value) if value.denominator == 1 else float(value)
    return value if isfinite(value) else str(float(value))
