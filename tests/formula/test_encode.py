"""Trees as lists that JSON can hold, with nothing lost."""

import json
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from handformer.formula import Sheet, expand
from handformer.formula.encode import encode, encode_sheet
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
)
from handformer.formula.parse import parse
from tests.formula.project import every_place


def decode(lists: list[Any]) -> Node:
    """The tree again: what a reader in another language would do."""
    match lists:
        case ["number", value]:
            return Number(value)
        case ["index", letter]:
            return Index(letter)
        case ["scalar", name]:
            return Scalar(name)
        case ["entry", name, places]:
            return Entry(name, tuple(map(decode, places)))
        case ["op", sign, left, right]:
            return Operation(sign, decode(left), decode(right))
        case ["negative", part]:
            return Negative(decode(part))
        case ["call", name, arguments]:
            return Call(name, tuple(map(decode, arguments)))
        case ["reduction", kind, letters, body]:
            return Reduction(kind, tuple(letters), decode(body))
    raise AssertionError(lists)


@every_place
def test_every_formula_of_the_project_comes_back(formulas: list[Any]) -> None:
    for formula in formulas:
        sent = json.loads(json.dumps(encode(formula.body), allow_nan=False))
        assert decode(sent) == formula.body


def test_the_forms() -> None:
    assert encode(parse("sum(c, q[t,h*d_k + c] * -2)")) == [
        "reduction", "sum", ["c"],
        ["op", "*",
         ["entry", "q", [["index", "t"],
                         ["op", "+", ["op", "*", ["index", "h"], ["scalar", "d_k"]],
                          ["index", "c"]]]],
         ["negative", ["number", 2]]],
    ]  # fmt: skip
    where = encode(parse("where(x[t] <= 1.5, exp(x[t]), -inf)"))
    assert where == [
        "call", "where",
        [["op", "<=", ["entry", "x", [["index", "t"]]], ["number", 1.5]],
         ["call", "exp", [["entry", "x", [["index", "t"]]]]],
         ["negative", ["scalar", "inf"]]],
    ]  # fmt: skip


def test_what_is_written_out_and_what_is_not_finite() -> None:
    x = np.array([-inf, 3.0, 2.0, nan])
    sheet = Sheet.parse("y = max(t, x[t])")
    found = expand(sheet, "y", (), {"x": x[:3]}, {}, terms=2)
    assert encode(found.numbers) == [
        "list", "max", [["number", 3.0], ["number", 2.0], ["rest", 1, "-inf"]]
    ]  # fmt: skip
    assert [encode(Number(value)) for value in (inf, nan, True, np.float32(0.5), np.int64(7))] == [
        ["number", "inf"], ["number", "nan"], ["number", True], ["number", 0.5], ["number", 7],
    ]  # fmt: skip
    third = [["number", 1], ["number", 3]]
    assert encode(Number(Fraction(1, 3))) == ["op", "/", *third]
    assert encode(Number(Fraction(4))) == ["number", 4]


def test_a_sheet_says_of_each_formula_all_there_is() -> None:
    sheet = Sheet.parse("""
        y[b,j]  = x[b,j] - top[b]
        top[b] := max(i, x[b,i])
    """)
    assert encode_sheet(sheet) == [
        {
            "name": "y", "axes": ["b", "j"], "kept": True, "text": "y[b,j] = x[b,j] - top[b]",
            "body": encode(sheet["y"].body),
        },
        {
            "name": "top", "axes": ["b"], "kept": False, "text": "top[b] := max(i, x[b,i])",
            "body": encode(sheet["top"].body),
        },
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["x[t] or x[t] < 1", "x[t] ** 2 % 3 // 4", "mean(i, x[i])"])
def test_other_operators(text: str) -> None:
    assert decode(encode(parse(text))) == parse(text)
