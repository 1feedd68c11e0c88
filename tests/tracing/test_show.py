"""An explanation in its five forms: the same numbers, and nothing that a text could break."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import handformer as hand
from handformer.formula.render import formula_latex, formula_text
from handformer.generate.text import TextModel
from handformer.models import CLASSES, ModelConfig
from handformer.text import Tokenizer
from handformer.tracing.explain import explain, follow
from handformer.tracing.explanation import Explanation
from handformer.tracing.show import FORMATS
from handformer.tracing.trace import Trace
from tests.tracing.small import traced

ODD = "<b>&`$|\\_*{}\"'#%~^"


@pytest.fixture(scope="module")
def told() -> Explanation:
    return explain(traced("gpt2"), "blocks.0.attention.d_w_q", (2, 5), terms=3)


@pytest.fixture(scope="module")
def odd() -> Trace:
    """A trace whose tokens mean something to every form."""
    tokenizer = Tokenizer.characters(ODD)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, context=32, n_layers=1, n_heads=1, d_model=4
    )
    return hand.trace(TextModel(CLASSES["gpt2"].init(config, seed=1), tokenizer), ODD)


def test_text_fits_a_terminal(told: Explanation) -> None:
    text = FORMATS["text"](told)
    lines = text.splitlines()
    assert lines[0] == "blocks.0.attention.d_w_q[2,5]"
    assert max(map(len, lines)) <= 80
    assert told.formula is not None
    assert formula_text(told.formula) in " ".join(text.split())
    for part in ("stored", "difference", "rounding explains", "comes from"):
        assert part in text
    assert f"stored             {told.stored!r}" in text
    for term in told.terms:
        assert f"{100 * term.share:.1f} %" in text
        assert term.text in text
    assert told.rest is not None
    assert f"{told.rest.count} more" in text


def test_markdown_and_latex_hold_the_formula(told: Explanation) -> None:
    assert told.formula is not None
    formula = formula_latex(told.formula)
    markdown, latex = FORMATS["markdown"](told), FORMATS["latex"](told)
    assert f"$$\n{formula}\n$$" in markdown
    assert rf"\[ {formula} \]" in latex
    assert latex.startswith(r"\documentclass")
    assert latex.endswith("\\end{document}\n")
    assert latex.count(r"\begin{itemize}") == latex.count(r"\end{itemize}") >= 2
    assert markdown.count("| ") >= 3 * len(told.terms)
    assert r"blocks.0.attention.d\_w\_q[2,5]" in latex
    for braces in ("{}", "[]"):
        assert latex.count(braces[0]) == latex.count(braces[1])


def test_the_page_is_well_formed_and_its_links_lead_somewhere() -> None:
    told = follow(traced("gpt2"), "blocks.0.attention.scores", (0, 1, 3, 2), terms=2, depth=1)
    page = FORMATS["html"](told)
    places = {*re.findall(r"<section id='([^']+)'", page)}
    links = {*re.findall(r"<a href='#([^']+)'", page)}
    assert links == places - {told.name}
    assert len(links) == 4
    for math in re.findall(r"<math.*?</math>", page, flags=re.DOTALL):
        ElementTree.fromstring(math)
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")
    assert repr(told.parents[0].value) in page  # whole, where it is shown short


def test_json_is_the_explanation(told: Explanation) -> None:
    read = json.loads(FORMATS["json"](told))
    assert read == json.loads(json.dumps(told.as_json()))
    assert read["rest"]["count"] == 7
    assert [*read] == [
        "path", "place", "axes", "formula", "abbreviations", "symbols", "numbers", "value",
        "stored", "difference", "rounding", "terms", "rest", "parents", "users", "tokens",
    ]  # fmt: skip


def test_tokens_break_no_form(odd: Trace) -> None:
    told = explain(odd, "blocks.0.mlp.d_w_up", (1, 2), terms=40)
    tokens = {term.token for term in told.terms if term.token}
    assert len(tokens) > 10
    page = FORMATS["html"](told)
    assert "<b>" not in page
    body = page[page.index("<body>") : page.index("</body>") + len("</body>")]
    ElementTree.fromstring(body)
    latex = FORMATS["latex"](told)
    rows = [line for line in latex.splitlines() if line.endswith(r"\\") and r" \% & " in line]
    assert len(rows) == len(told.terms)
    assert all(len(re.findall(r"(?<!\\)&", row)) == 3 for row in rows)
    table = [line for line in FORMATS["markdown"](told).splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in table)


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_shows_what_has_no_formula(form: str) -> None:
    for path, place in (("tokens", (0, 1)), ("blocks.0.attention.mask", (0, 0, 1, 1))):
        shown = FORMATS[form](explain(traced("gpt2"), path, place))
        assert path.replace("_", r"\_") in shown or path in shown


def test_what_is_not_finite_is_shown() -> None:
    trace = traced("gpt2")
    changed = {path: trace[path] for path in trace}
    changed["blocks.0.attention.q"] = np.full_like(trace["blocks.0.attention.q"], np.inf)
    told = explain(Trace(trace.manifest, changed), "blocks.0.attention.scores", (0, 1, 3, 2))
    for form, shown in FORMATS.items():
        assert shown(told), form
    assert json.loads(FORMATS["json"](told))["value"] in ("nan", "inf", "-inf")
