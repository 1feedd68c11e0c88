"""An explanation as a LaTeX document that can be compiled as it is."""

from collections.abc import Iterable, Iterator

from handformer.formula.paper import display, escaped, paper, prose
from handformer.tracing.explanation import Explanation, called
from handformer.tracing.show import said
from handformer.tracing.show.typeset import equations, terms


def document(told: Explanation) -> str:
    """The whole explanation, a section for each number."""
    return paper(line for one in said.every(told) for line in _lines(one))


def _lines(told: Explanation) -> Iterator[str]:
    yield rf"\section*{{{prose(f'`{told.name}`')}}}"
    yield from _listed(escaped(one) for one in said.where(told))
    if told.formula is None:
        yield prose(said.given(told))
    yield from display(equations(told))
    yield from _listed(prose(f"{name}: `{value}`") for name, value in said.judged(told))
    if said.summed(told):
        yield rf"\subsection*{{{prose(said.TERMS)}}}"
        yield r"\begin{tabular}{rrll}"
        for value, share, expression, token in terms(told):
            yield rf"{value} & {prose(share)} & ${expression}$ & {escaped(token)} \\"
        yield r"\end{tabular}"
    parents = (f"`{called(one.path, one.place)}` = {said.short(one.value)}" for one in told.parents)
    yield from _headed(said.PARENTS, parents)
    yield from _headed(said.USERS, (f"`{one}`" for one in said.users(told)))


def _headed(head: str, lines: Iterable[str]) -> Iterator[str]:
    found = [prose(line) for line in lines]
    if found:
        yield rf"\subsection*{{{prose(head)}}}"
        yield from _listed(found)


def _listed(lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield r"\begin{itemize}"
        yield from (rf"\item {line}" for line in found)
        yield r"\end{itemize}"
