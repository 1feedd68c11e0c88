"""An explanation as plain text for a terminal of 80 columns."""

from collections.abc import Iterable, Iterator

from handformer.formula.breaking import INDENT, WIDTH, broken, equation
from handformer.formula.render import formula_text, plain
from handformer.formula.rounded import rounded
from handformer.tracing.explanation import Explanation, called
from handformer.tracing.show import said

_RULE = "─"


def text(told: Explanation) -> str:
    """The whole explanation; those of its parents follow, if they were asked for."""
    lines: list[str] = []
    for one in said.every(told):
        if lines:
            lines += ["", _RULE * WIDTH, ""]
        lines += _lines(one)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _lines(told: Explanation) -> Iterator[str]:
    yield told.name
    yield from (f"{INDENT}{one}" for one in said.where(told))
    yield ""
    if told.formula is None or told.symbols is None or told.numbers is None:
        yield f"{INDENT}{said.short(told.stored)}, {said.given(told)}"
        yield ""
    else:
        for formula in (told.formula, *told.abbreviations):
            name, _, right = formula_text(formula).partition(" = ")
            yield from broken(name, right)
        yield ""
        numbers = plain(rounded(told.numbers, told.formula))
        symbols = plain(rounded(told.symbols, told.formula))
        sides = (symbols, numbers, said.short(said.result(told)))
        yield from equation(plain(said.here(told)), sides)
        yield ""
    rows = said.judged(told)
    width = max(len(name) for name, _ in rows)
    yield from (f"{INDENT}{name:<{width}}  {value}" for name, value in rows)
    if said.summed(told):
        yield from _headed(said.TERMS, _terms(told))
    parents = (f"{called(one.path, one.place)} = {said.short(one.value)}" for one in told.parents)
    yield from _headed(said.PARENTS, parents)
    yield from _headed(said.USERS, said.users(told))


def _terms(told: Explanation) -> Iterator[str]:
    rows = [
        (said.short(one.value), said.share(one), one.text, said.token(one)) for one in told.terms
    ]
    if more := said.rest(told):
        rows.append((more[0], "", more[1], ""))
    wide, shares = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    for value, share, words, token in rows:
        yield f"{value:>{wide}}  {share:>{shares}}  {words}  {token}"


def _headed(head: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield ""
        yield head
        yield from (f"{INDENT}{line}" for line in found)
