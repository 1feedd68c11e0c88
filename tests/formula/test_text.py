"""Plain text: parsing it gives the tree again."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from handformer.formula import Formula
from handformer.formula.expression import (
    Entry,
    Listing,
    Negative,
    Node,
    Number,
    Operation,
    Rest,
    Scalar,
)
from handformer.formula.parse import parse
from handformer.formula.text import number, plain
from tests.formula.project import every_place
from tests.formula.trees import trees


@settings(max_examples=400)
@given(trees)
def test_parsing_the_text_of_any_tree_gives_the_tree(tree: Node) -> None:
    assert parse(plain(tree)) == tree


@every_place
def test_parsing_the_text_of_a_formula_gives_the_formula(formulas: list[Formula]) -> None:
    for formula in formulas:
        again = Formula.build(formula.name, formula.axes, formula.body, kept=formula.kept)
        assert again == formula


@pytest.mark.parametrize(
    "text",
    [
        "a + b + c",
        "a + (b + c)",
        "a - (b - c) - d",
        "(a + b) * c / (d * e)",
        "a * (b * c)",
        "-a * b",
        "-(a * b)",
        "-x ** 2",
        "(-x) ** 2",
        "(a ** b) ** c",
        "a ** b ** c",
        "a ** (-b)",
        "a - (-b)",
        "-(-a)",
        "x[t - 1,h * d_k + c]",
        "(a < b) == (c < d)",
        "targets[b] == -100",
        "(a or b) and c or d",
        "a % (b // c) % d",
        "where(a < b, -1, 1) * sum(i, j, x[i] - 1)",
        "1e-05 * 2.0",
    ],
)
def test_parentheses_stand_only_where_they_must_or_help(text: str) -> None:
    assert plain(parse(text)) == text


@pytest.mark.parametrize(
    ("value", "exact", "short"),
    [
        (2, "2", "2"),
        (np.int64(-100), "-100", "-100"),
        (0.1 + 0.2, "0.30000000000000004", "0.3"),
        (np.float32(0.1), "0.10000000149011612", "0.1"),
        (-1e-9, "-1e-09", "-1e-09"),
        (-0.0, "-0.0", "0"),
        (10000.0, "10000.0", "10000"),
        (-1e6, "-1000000.0", "-1e+06"),
        (12345.6, "12345.6", "1.235e+04"),
        (float("nan"), "nan", "nan"),
        (float("-inf"), "-inf", "-inf"),
        (Fraction(-1, 3), "-1/3", "-1/3"),
        (True, "true", "true"),
        (np.False_, "false", "false"),
    ],
)
def test_a_number_is_shown_exactly_or_short(value: Any, exact: str, short: str) -> None:
    assert (number(value), number(value, 4)) == (exact, short)


def test_numbers_put_in_keep_their_parentheses() -> None:
    minus, third, two = Number(-0.5), Number(Fraction(1, 3)), Number(2)
    assert plain(Operation("-", minus, minus)) == "-0.5 - (-0.5)"
    assert plain(Operation("**", minus, two)) == "(-0.5) ** 2"
    assert plain(Operation("**", third, two)) == "(1/3) ** 2"
    assert plain(Operation("/", two, third)) == "2 / (1/3)"


def test_a_listing_is_a_sum_or_a_call_and_tells_what_it_leaves_out() -> None:
    terms = (Number(-0.25), Negative(Scalar("a")), Operation("*", Scalar("b"), Number(2)))
    total = Listing("sum", (*terms, Rest(7, 0.03125)))
    assert plain(total, 2) == "-0.25 + (-a) + b * 2 + (7 more: 0.031)"
    assert plain(Operation("/", total, Number(10)), 2).startswith("(-0.25 + ")
    assert plain(Listing("max", terms)) == "max(-0.25, -a, b * 2)"


def test_what_is_no_node_is_an_error_of_ours() -> None:
    with pytest.raises(AssertionError):
        plain(Entry("x", (Node(),)))
