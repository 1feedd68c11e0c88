"""The mathematics of an explanation in LaTeX: what Markdown and LaTeX pages have in common."""

from collections.abc import Iterator

from handformer.formula.expression import Number
from handformer.formula.render import formula_latex, latex
from handformer.formula.rounded import DIGITS, rounded
from handformer.tracing.explanation import Explanation
from handformer.tracing.show import said


def equations(told: Explanation) -> Iterator[str]:
    """The formula, and the entry: with its names, with its numbers, and what it comes to."""
    result = latex(Number(said.result(told)), DIGITS)
    if told.formula is None or told.symbols is None or told.numbers is None:
        yield f"{latex(said.here(told))} = {result}"
        return
    yield from map(formula_latex, (told.formula, *told.abbreviations))
    symbols = latex(rounded(told.symbols, told.formula))
    numbers = latex(rounded(told.numbers, told.formula))
    sides = dict.fromkeys((symbols, numbers, result))
    lines = r" \\ ".join(f"&= {side}" for side in sides)
    yield rf"\begin{{aligned}} {latex(said.here(told))} {lines} \end{{aligned}}"


def terms(told: Explanation) -> Iterator[tuple[str, str, str, str]]:
    """Of each term its value, share, expression and token, and the others together."""
    for term in told.terms:
        yield said.short(term.value), said.share(term), latex(term.node), said.token(term)
    if more := said.rest(told):
        yield more[0], "", rf"\text{{{more[1]}}}", ""
