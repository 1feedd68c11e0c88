"""An explanation as Markdown, its mathematics between dollar signs."""

from collections.abc import Iterable, Iterator

from handformer.tracing.explanation import Explanation, called
from handformer.tracing.show import said
from handformer.tracing.show.typeset import equations, terms

_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>|~$&"})


def markdown(told: Explanation) -> str:
    """The whole explanation; those of its parents follow, if they were asked for."""
    return "\n\n".join(part for one in said.every(told) for part in _paragraphs(one)) + "\n"


def _paragraphs(told: Explanation) -> Iterator[str]:
    yield f"## `{told.name}`"
    if told.place:
        yield "\n".join(f"- {_words(one)}" for one in said.where(told))
    if told.formula is None:
        yield said.given(told)
    yield from (f"$$\n{formula}\n$$" for formula in equations(told))
    yield "\n".join(f"- {name}: `{value}`" for name, value in said.judged(told))
    if said.summed(told):
        yield f"### {said.TERMS}"
        yield "\n".join(_table(told))
    parents = (
        f"`{called(one.path, one.place)}` = `{said.short(one.value)}`" for one in told.parents
    )
    yield from _listed(said.PARENTS, parents)
    yield from _listed(said.USERS, (f"`{one}`" for one in said.users(told)))


def _table(told: Explanation) -> Iterator[str]:
    yield "| value | share | term | token |"
    yield "|--:|--:|:--|:--|"
    for value, share, expression, token in terms(told):
        yield f"| {value} | {share} | ${expression}$ | {_words(token)} |"


def _listed(head: str, lines: Iterable[str]) -> Iterator[str]:
    found = [f"- {line}" for line in lines]
    if found:
        yield f"### {head}"
        yield "\n".join(found)


def _words(text: str) -> str:
    """A text in which no sign means anything to Markdown, on one line."""
    return " ".join(text.splitlines()).translate(_SPECIAL)
