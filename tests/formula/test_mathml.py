"""MathML: well-formed for every formula, and in the forms that browsers show."""

from fractions import Fraction
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings

from handformer.formula import Formula
from handformer.formula.expression import Listing, Node, Number, Operation, Rest, Scalar
from handformer.formula.parse import parse
from handformer.formula.render import formula_mathml, mathml
from tests.formula.project import every_place
from tests.formula.trees import trees

# The elements of MathML Core, which browsers show, and how many parts they take.
PARTS = {"mfrac": 2, "msup": 2, "msub": 2, "munder": 2, "mover": 2}
CORE = {
    *PARTS,
    "math",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "msqrt",
    "mspace",
    "mtable",
    "mtr",
    "mtd",
}


def well_formed(text: str) -> Xml.Element:
    root = Xml.fromstring(text)
    for element in root.iter():
        tag = element.tag.rpartition("}")[2]
        assert tag in CORE
        assert len(element) == PARTS.get(tag, len(element))
    return root


def read(text: str) -> str:
    """What a reader sees, in a line: fractions as (a)/(b), what stands low or high after _ or ^."""

    def line(element: Xml.Element) -> str:
        inside = [line(part) for part in element]
        match element.tag:
            case "mfrac":
                return f"({inside[0]})/({inside[1]})"
            case "msub" | "munder":
                return f"{inside[0]}_{{{inside[1]}}}"
            case "msup" | "mover":
                return f"{inside[0]}^{{{inside[1]}}}"
            case "msqrt":
                return f"√{{{''.join(inside)}}}"
            case "mtr":
                return " & ".join(inside) + "; "
            case "mspace":
                return " "
        return (element.text or "") + "".join(inside)

    return line(Xml.fromstring(f"<mrow>{text}</mrow>")).replace("\N{INVISIBLE TIMES}", " ").replace(
        "\N{FUNCTION APPLICATION}", "").replace("\xa0", "~")  # fmt: skip


@settings(max_examples=250)
@given(trees)
def test_the_mathml_of_any_tree_is_well_formed(tree: Node) -> None:
    well_formed(f"<math>{mathml(tree)}</math>")


@every_place
def test_every_formula_is_well_formed(formulas: list[Formula]) -> None:
    for formula in formulas:
        assert well_formed(formula_mathml(formula)).attrib["display"] == "block"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("w_q[i,c] * d_scores[t]", "w_{q;i,c} d scores_{t}"),
        ("d_k[s] / sqrt(d_k)", "(dk_{s})/(√{d_{k}})"),
        ("norm_1.d_gamma[i] - eps", "norm_1.dγ_{i}−ε"),
        ("x_hat[i] * 0.5", "x^{^}_{i}⋅0.5"),
        ("exp(-x) ** 2 * inf", "exp(−x)^{2} ∞"),
        ("sum(b, t, x[b] - y)", "∑_{b,t}(x_{b}−y)"),
        ("max(i, x[i])", "max_{i}(x_{i})"),
        ("x[h // group,c % 2]", "x_{⌊h/group⌋,cmod2}"),
        ("s <= t and s != 1 or s >= 2 and s < 3", "s≤t∧s≠1∨s≥2∧s<3"),
        ("where(s == t, x, -1e-5)", "{x & if~s=t; −1⋅10^{−5} & otherwise~; "),
    ],
)
def test_a_formula_in_mathml(text: str, seen: str) -> None:
    assert read(mathml(parse(text))) == seen


def test_numbers_put_in_and_terms_left_out() -> None:
    half = Number(Fraction(-1, 2))
    assert read(mathml(Operation("+", half, half))) == "−(1)/(2)+(−(1)/(2))"
    assert read(mathml(Operation("and", Number(True), Number(-2.0)), 3)) == "true∧(−2)"
    total = Listing("sum", (Scalar("a"), Number(-0.25), Rest(7, -0.03125)))
    assert read(mathml(total, 2)) == "a+(−0.25)+(−0.031_{⏟}_{7 more~})"
    assert read(mathml(Listing("max", (Number(1), Number(2))))) == "max(1,2)"


def test_a_whole_formula() -> None:
    text = formula_mathml(Formula.parse("loss = sum(b, d_x[b])"))
    inside = text.partition(">")[2].removesuffix("</math>")
    assert read(inside) == "loss=∑_{b}dx_{b}"
