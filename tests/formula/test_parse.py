"""The language: what is read, and where a mistake is pointed at."""

import pytest

from handformer.formula import Formula, FormulaError, Sheet
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
from handformer.formula.parse import parse
from tests.formula.project import every_place


def test_text_becomes_a_tree() -> None:
    t, c = Index("t"), Index("c")
    q = Entry("block.q", (t, Operation("+", Operation("*", Index("h"), Scalar("d_k")), c)))
    assert parse("sum(c, block.q[t, h*d_k + c] * 2) / sqrt(d_k)") == Operation(
        "/",
        Reduction("sum", ("c",), Operation("*", q, Number(2))),
        Call("sqrt", (Scalar("d_k"),)),
    )
    assert parse("where(t <= c and t > 1 or c == 0, -x.y, 1e-5)") == Call(
        "where",
        (
            Operation(
                "or",
                Operation("and", Operation("<=", t, c), Operation(">", t, Number(1))),
                Operation("==", c, Number(0)),
            ),
            Negative(Scalar("x.y")),
            Number(1e-5),
        ),
    )


def test_d_k_without_places_is_a_number_and_with_places_an_array() -> None:
    kinds = {type(node) for node in walk(parse("d_k[s,c] / d_k")) if not isinstance(node, Index)}
    assert kinds == {Operation, Entry, Scalar}


@pytest.mark.parametrize(
    ("text", "pointed", "reason"),
    [
        ("x[i] + (lambda: 1)", "lambda: 1", "Lambda isn't part of the formula language"),
        ("x[i] if i else 2", "x[i] if", "IfExp isn't part"),
        ("'a'", "'a'", "Constant isn't part"),
        ("1 + True", "True", "Constant isn't part"),
        ("2 * 1j", "1j", "Constant isn't part"),
        ("not i", "not i", "UnaryOp isn't part"),
        ("x[i] @ y", "x[i] @", "BinOp isn't part"),
        ("1 + x[0:1]", "0:1", "Slice isn't part"),
        ("1 + (i < t < s)", "i < t < s", "join two comparisons with `and`"),
        ("i is t", "i is t", "Compare isn't part"),
        ("2 * foo(i)", "foo(i)", "unknown function foo; there are sum, max, mean, exp"),
        ("1 + __import__('os')", "__import__", "unknown function __import__"),
        ("x.exp(i)", "x.exp(i)", "Call isn't part"),
        ("exp(x=i)", "exp(x=i)", "Call isn't part"),
        ("exp(i, t)", "exp(i, t)", "exp takes 1 arguments, not 2"),
        ("1 - where(i, 2)", "where(i, 2)", "where takes 3 arguments, not 2"),
        ("sum(x[i])", "sum(x[i])", "sum needs an index and a body: sum(i, x[i])"),
        ("sum(i, d_k, x[i])", "d_k, x", "sum runs over axis letters"),
        ("max(i + 1, x[i])", "i + 1", "max runs over axis letters"),
        ("1 + (i + 2)[t]", "i + 2", "expected the name of an array"),
        ("x[i] + ]", "]", "this can't be read: unmatched ']'"),
        ("sum(i, x[i]", "(i", "this can't be read: '(' was never closed"),
        ("x[i] +", "", "this can't be read: invalid syntax"),
        ("", "", "this can't be read: invalid syntax"),
        ("größe[i] + foo(ß[i], i)", "foo(", "unknown function foo"),
        ("1" + " + 1" * 20_000, "1 + 1", "this can't be read: nested too deeply"),
    ],
)
def test_what_is_no_formula_is_pointed_at(text: str, pointed: str, reason: str) -> None:
    start = "y[i] = "
    with pytest.raises(FormulaError) as caught:
        parse(start + text, len(start))
    error = caught.value
    assert error.reason.startswith(reason)
    column = len(start) + text.rindex(pointed) if len(text) < 100 else len(start)
    assert (error.text, error.column) == (start + text, column)
    first, second, third = str(error).split("\n")
    assert (first, second) == (error.reason, f"    {start + text}")
    assert third.index("^") == 4 + column


def test_space_before_an_expression_is_no_mistake() -> None:
    assert parse("y = \t x[i] ", 3) == parse("x[i]")


def pointed(formula: Formula, node: Node) -> bool:
    """Whether a name or letter stands where its node says."""
    name = node.letter if isinstance(node, Index) else getattr(node, "name", "")
    return formula.text.startswith(name, node.column) and node.column >= 0


@every_place
def test_every_name_and_letter_stands_at_its_column(formulas: list[Formula]) -> None:
    assert all(pointed(formula, node) for formula in formulas for node in walk(formula.body))


def test_columns_are_right_after_a_change_of_names_and_terms() -> None:
    sheet = Sheet.parse("""
        y[b,j] = sum(i, x[b,i] * w[i,j])
                 + bias[j] + more[j]
    """)
    (formula,) = sheet.rename(b="b t", x="attention.out", j="n").without("bias")
    assert formula.text == "y[b,t,n] = sum(i, attention.out[b,t,i] * w[i,n]) + more[n]"
    assert all(pointed(formula, node) for node in walk(formula.body))
