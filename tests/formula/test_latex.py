"""LaTeX: every formula can be typeset, and parentheses stand where the meaning needs them."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from matplotlib.mathtext import MathTextParser

from handformer.formula import Formula, Sheet
from handformer.formula.expression import Listing, Negative, Node, Number, Operation, Rest, Scalar
from handformer.formula.parse import parse
from handformer.formula.render import formula_latex, latex
from tests.formula.project import every_place
from tests.formula.trees import trees

# What matplotlib's reader of mathematics lacks; KaTeX and MathJax have it.
MISSING = (r"\begin{cases}", r"\operatorname*", r"\bmod")


def balanced(text: str) -> bool:
    depth = 0
    for sign in text.replace(r"\\", ""):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0 and text.count(r"\left") == text.count(r"\right")


@settings(max_examples=100)
@given(trees)
def test_the_latex_of_any_tree_is_balanced(tree: Node) -> None:
    assert balanced(latex(tree))


@every_place
def test_every_formula_can_be_typeset(formulas: list[Formula]) -> None:
    for text in map(formula_latex, formulas):
        assert balanced(text)
        if not any(missing in text for missing in MISSING):
            MathTextParser("path").parse(f"${text}$")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x[b,i]", "x_{b,i}"),
        ("w_q[i,c]", r"w_{q;\,i,c}"),
        ("d_w_up[i]", r"\mathrm{d}w_{\mathrm{up};\,i}"),
        ("d_scores[t,s]", r"\mathrm{d}\,\mathrm{scores}_{t,s}"),
        ("d_k[s] / sqrt(d_k)", r"\frac{\mathrm{d}k_{s}}{\sqrt{d_{k}}}"),
        ("norm_1.d_gamma[i]", r"\mathrm{norm\_1.}\mathrm{d}\gamma_{i}"),
        ("x_hat[i] + eps", r"\hat{x}_{i} + \varepsilon"),
        ("beta_1 - vocab_size * n_kv_heads",
         r"\beta_{1} - \mathrm{vocab\_size} \, n_{\mathrm{kv\_heads}}"),
        ("-inf * pi", r"-\infty \, \pi"),
        ("x[b,h // group,c % 2]", r"x_{b,\left\lfloor h / \mathrm{group} \right\rfloor,c \bmod 2}"),
        ("2 * x * 3 * 1e-05", r"2 \, x \cdot 3 \cdot 1 \cdot 10^{-5}"),
        ("x * 0.5 ** 2 * (1 + y)", r"x \cdot {0.5}^{2} \, \left(1 + y\right)"),
        ("x / 2 * (2 / y)", r"\frac{x}{2} \cdot \frac{2}{y}"),
        ("a - (b - c) + (d + e)", r"a - \left(b - c\right) + d + e"),
        ("a * (b * c) / -d", r"\frac{a \, b \, c}{-d}"),
        ("a * (b + c) - -d", r"a \, \left(b + c\right) - \left(-d\right)"),
        ("-a * b + -(c + d) * x", r"-a \, b + \left(-\left(c + d\right) \, x\right)"),
        ("-(-a)", r"-\left(-a\right)"),
        ("a * (-b * c)", r"a \, \left(-b \, c\right)"),
        ("(a / b) ** 2 + x[i] ** (y / 2)",
         r"{\left(\frac{a}{b}\right)}^{2} + {x_{i}}^{\frac{y}{2}}"),
        ("tanh(x) ** 2 + erf(-x)",
         r"{\tanh\left(x\right)}^{2} + \operatorname{erf}\left(-x\right)"),
        ("sum(i, x[i]) * y", r"\left(\sum_{i} x_{i}\right) \, y"),
        ("y * sum(i, x[i]) + z", r"y \, \sum_{i} x_{i} + z"),
        ("y * sum(i, x[i]) * z", r"\left(y \, \sum_{i} x_{i}\right) \, z"),
        ("sum(b, t, a - b0) / 2", r"\frac{\sum_{b,t} \left(a - \mathrm{b0}\right)}{2}"),
        ("sum(i, -x[i])", r"\sum_{i} \left(-x_{i}\right)"),
        ("max(i, x[i]) - mean(i, x[i])",
         r"\max_{i} \left(x_{i}\right) - \operatorname*{mean}_{i} \left(x_{i}\right)"),
        ("a % (b + c) * 2 % d",
         r"\left(a \bmod \left(b + c\right)\right) \cdot 2 \bmod d"),
        ("mean(i, x[i]) ** 2",
         r"{\left(\operatorname*{mean}_{i} \left(x_{i}\right)\right)}^{2}"),
        ("a + (b - c)", r"a + b - c"),
        ("(a + b) // (c * d)",
         r"\left\lfloor \left(a + b\right) / \left(c \, d\right) \right\rfloor"),
        ("s <= t and (s > t - w or s != 0)",
         r"s \leq t \wedge \left(s > t - w \vee s \neq 0\right)"),
        ("(a < b) == -1", r"\left(a < b\right) = -1"),
        ("where(s >= t, x, -1)",
         r"\begin{cases} x & \text{if } s \geq t \\ -1 & \text{otherwise} \end{cases}"),
    ],
)  # fmt: skip
def test_a_formula_in_latex(text: str, shown: str) -> None:
    assert latex(parse(text)) == shown


CASES = r"\begin{cases} x & \text{if } s \\ 0 & \text{otherwise} \end{cases}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("where(s, x, 0) + 1", rf"\left({CASES}\right) + 1"),
        ("1 + where(s, x, 0)", rf"1 + \left({CASES}\right)"),
        ("where(s, x, 0) * 2", rf"\left({CASES}\right) \cdot 2"),
        ("where(s, x, 0) ** 2", rf"{{\left({CASES}\right)}}^{{2}}"),
        ("where(s, x, 0) / 2", rf"\frac{{{CASES}}}{{2}}"),
        ("sum(i, where(s, x, 0))", rf"\sum_{{i}} {CASES}"),
        ("sum(i, where(s, x, 0)) + 1", rf"\left(\sum_{{i}} {CASES}\right) + 1"),
        ("2 * sum(i, where(s, x, 0)) + 1", rf"\left(2 \, \sum_{{i}} {CASES}\right) + 1"),
        ("2 * where(s, x, 0) + 1", rf"2 \, \left({CASES}\right) + 1"),
        ("max(i, where(s, x, 0))", rf"\max_{{i}} \left({CASES}\right)"),
        ("-where(s, x, 0)", rf"-\left({CASES}\right)"),
    ],
)
def test_cases_are_held_together(text: str, shown: str) -> None:
    assert latex(parse(text)) == shown


def test_numbers_put_in() -> None:
    minus, small = Number(-0.512345), Number(-1.5e-7)
    assert latex(Operation("*", minus, minus), 3) == r"-0.512 \cdot \left(-0.512\right)"
    assert latex(Operation("-", small, small), 2) == (
        r"-1.5 \cdot 10^{-7} - \left(-1.5 \cdot 10^{-7}\right)"
    )
    assert latex(Operation("**", Number(1e20), Number(2)), 2) == (
        r"{\left(1 \cdot 10^{20}\right)}^{2}"
    )
    assert latex(Operation("and", Number(True), Number(False))) == (
        r"\mathrm{true} \wedge \mathrm{false}"
    )
    infinite = Operation("+", Number(float("-inf")), Number(float("-inf")))
    assert latex(infinite) == r"-\infty + \left(-\infty\right)"


def test_fractions_are_set_as_fractions() -> None:
    third, minus = Number(Fraction(1, 3)), Number(Fraction(-1, 3))
    assert latex(Operation("+", minus, minus)) == (r"-\frac{1}{3} + \left(-\frac{1}{3}\right)")
    assert latex(Operation("**", third, Number(2))) == r"{\left(\frac{1}{3}\right)}^{2}"
    assert latex(Number(Fraction(4, 2))) == "2"


def test_listings_and_what_they_leave_out() -> None:
    terms = (Negative(Scalar("a")), Operation("+", Scalar("b"), Scalar("c")), Number(-2))
    total = Listing("sum", (*terms, Rest(7, 0.03125)))
    text = r"-a + b + c + \left(-2\right) + \underbrace{0.031}_{\text{7 more}}"
    assert latex(total, 2) == text
    assert latex(Operation("*", total, Scalar("x")), 2) == rf"\left({text}\right) \, x"
    assert latex(Operation("*", Scalar("x"), total), 2) == rf"x \, \left({text}\right)"
    assert latex(Listing("max", (Number(1), Scalar("a")))) == r"\max\left(1, a\right)"


def test_a_whole_formula() -> None:
    sheet = Sheet.parse("attn[b,t] = exp(scores[b,t]) / total[b]\nloss = sum(b, d_x[b])")
    assert [formula_latex(formula) for formula in sheet] == [
        r"\mathrm{attn}_{b,t} = \frac{\exp\left(\mathrm{scores}_{b,t}\right)}{\mathrm{total}_{b}}",
        r"\mathrm{loss} = \sum_{b} \mathrm{d}x_{b}",
    ]
