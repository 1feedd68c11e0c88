"""Formulas and numbers look on the page as in Python: the same MathML, text and digits."""

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from handformer.formula import Sheet
from handformer.formula.encode import encode, encode_sheet
from handformer.formula.expression import Listing, Node, Number, Operation, Rest
from handformer.formula.parse import parse
from handformer.formula.render import formula_mathml, formula_text, mathml, number, plain
from tests.tracing.small import FAMILIES, traced

# What no sheet holds, but an unrolled formula may.
UNUSUAL: tuple[Node, ...] = (
    Listing("sum", (parse("-q[0,1] * 2"), Number(-0.5), Rest(12, -3.25e-7))),
    Listing("max", (Number(float("-inf")), parse("a - (b - c)"), Rest(3, 2.5))),
    Operation("*", Listing("sum", (Number(1), Number(2))), Number(1.5e-9)),
    Operation("**", Number(-2.5), Number(3)),
    Operation("-", parse("where(m[0], 1, 0)"), parse("where(m[1], 2, 0)")),
    parse("(a + b) // c % d_k * sum(i, where(i < 3, x[i], 0)) + d_model * 3e-05"),
    parse("mean(i, x[i]) ** -y / (1 - rate) - -z"),
    parse("d_x_hat[0] * encoder.norm_1.rstd[1] - gamma_2[1] * pi - d_vocab[n_1]"),
)
DIGITS = (None, 4)
NUMBERS = [0.1, 1 / 3, 0.00012345678, 9.9999e-5, 1e-5, 123456.75, 999999, 1e6, 1e15, 1e16, 1e22,
           -2.5, -0.0, 3, 5e-324, 1.7976931348623157e308, 0.99999, 99999.6, float("inf"),
           float("-inf"), float("nan"), 0.70710678]  # fmt: skip


def sheets() -> list[Sheet]:
    found = {}
    for family in FAMILIES:
        trace = traced(family)
        found |= {text: Sheet.parse(text) for text in trace.manifest.sheets}
    return list(found.values())


def form(markup: str) -> Any:
    """The elements of MathML with their texts, and what of their attributes means anything."""
    bare = re.sub(r"xmlns='[^']*'|xmlns=\"[^\"]*\"", "", markup).replace("&nbsp;", "&#xA0;")

    def read(element: Any) -> Any:
        ours = {"style", "class", "title"}
        attributes = {k: v for k, v in element.attrib.items() if k not in ours}
        return element.tag, attributes, (element.text or "").strip(" "), [*map(read, element)]

    return read(ElementTree.fromstring(bare))


def test_formulas_have_the_same_mathml_and_text(blank: Callable[..., Any]) -> None:
    formulas = [formula for sheet in sheets() for formula in sheet]
    told = [formula for sheet in sheets() for formula in encode_sheet(sheet)]
    written = blank().evaluate(
        """async (formulas) => {
            const { formulaMath } = await import("/math.js");
            const { formulaText } = await import("/text.js");
            return formulas.map((one) => [
              formulaMath(one, { block: true }).outerHTML, formulaText(one)]);
        }""",
        told,
    )
    assert len(written) == len(formulas) > 100
    for formula, (markup, text) in zip(formulas, written, strict=True):
        assert form(markup) == form(formula_mathml(formula)), formula
        assert text == formula_text(formula)


def test_trees_with_numbers_have_the_same_mathml_and_text(blank: Callable[..., Any]) -> None:
    written = blank().evaluate(
        """async ([trees, digits]) => {
            const { math } = await import("/math.js");
            const { text } = await import("/text.js");
            return trees.map((tree) => digits.map((n) =>
              [math(tree, { digits: n }).outerHTML, text(tree, n)]));
        }""",
        [[encode(node) for node in UNUSUAL], DIGITS],
    )
    for node, ways in zip(UNUSUAL, written, strict=True):
        for digits, (markup, text) in zip(DIGITS, ways, strict=True):
            assert form(markup) == form(f"<math>{mathml(node, digits)}</math>"), node
            assert text == plain(node, digits)


def test_an_entry_leads_where_it_is_told_to(blank: Callable[..., Any]) -> None:
    tree = encode(parse("q[0,2] * k[t,1]"))
    links = blank().evaluate(
        """async (tree) => {
            const { math } = await import("/math.js");
            const onEntry = (name, place) => `#/value/${name}?at=${place}`;
            const made = math(tree, { onEntry });
            const links = [...made.querySelectorAll("a")];
            return links.map((a) => [a.getAttribute("href"), a.textContent]);
        }""",
        tree,
    )
    assert links == [["#/value/q?at=0,2", "q0,2"]]


def test_a_shortened_number_can_be_read_whole(blank: Callable[..., Any]) -> None:
    titles = blank().evaluate(
        """async (tree) => {
            const { math } = await import("/math.js");
            const made = math(tree, { digits: 4 });
            return [...made.querySelectorAll("mn")].map((mn) => mn.getAttribute("title"));
        }""",
        encode(Operation("+", Number(0.70710678), Number(0.5))),
    )
    assert titles == ["0.70710678", None]


def test_names_can_be_no_markup(blank: Callable[..., Any]) -> None:
    made = blank().evaluate(
        """async (name) => {
            const { math } = await import("/math.js");
            const made = math(["entry", name, [["number", 0]]]);
            return [made.querySelectorAll("img").length, made.textContent];
        }""",
        "<img src=x onerror=alert(1)>",
    )
    assert made[0] == 0
    assert "<img" in made[1]


@pytest.mark.parametrize("digits", DIGITS)
def test_numbers_have_pythons_digits(blank: Callable[..., Any], digits: int | None) -> None:
    rng = np.random.default_rng(0)
    spread = rng.standard_normal(2000) * 10.0 ** rng.uniform(-12, 12, 2000)
    given = [*NUMBERS, *spread.tolist()]
    shown = blank().evaluate(
        """async ([numbers, digits]) => {
            const { short, whole } = await import("/number.js");
            const read = { inf: Infinity, "-inf": -Infinity, nan: NaN };
            return numbers.map((x) => x in read ? read[x] : x)
              .map((x) => digits === null ? whole(x) : short(x, digits));
        }""",
        [[x if np.isfinite(x) else str(x) for x in given], digits],
    )
    # JavaScript has no whole numbers of their own: 2 and 2.0 are the same there.
    assert shown == [number(x, digits).removesuffix(".0") for x in given]
