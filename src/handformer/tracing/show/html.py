"""An explanation as a page of its own, its mathematics in MathML."""

from collections.abc import Iterable, Iterator
from html import escape

from handformer.formula.expression import Index, Number
from handformer.formula.page import equation, page
from handformer.formula.render import mathml, number
from handformer.formula.rounded import DIGITS, rounded
from handformer.tracing.explanation import Explanation, called
from handformer.tracing.show import said


def html(told: Explanation) -> str:
    """The whole explanation, a section for each number; parents that are explained are links."""
    explained = {one.name for one in said.every(told)}
    lines = (line for one in said.every(told) for line in _lines(one, explained))
    return page(told.name, lines)


def _lines(told: Explanation, explained: set[str]) -> Iterator[str]:
    yield f"<section id='{escape(told.name)}'>"
    yield f"<h2><code>{escape(told.name)}</code></h2>"
    yield from _listed(escape(one) for one in said.where(told))
    if told.formula is None or told.symbols is None or told.numbers is None:
        yield f"<p>{escape(said.given(told))}</p>"
        yield equation(said.here(told), [mathml(Number(told.stored), DIGITS)])
    else:
        for formula in (told.formula, *told.abbreviations):
            yield equation(said.left(formula.name, map(Index, formula.axes)), [formula.body])
        result = mathml(Number(said.result(told)), DIGITS)
        numbers = mathml(rounded(told.numbers, told.formula))
        symbols = mathml(rounded(told.symbols, told.formula))
        yield equation(said.here(told), [symbols, numbers, result])
    yield "<dl>"
    for name, value in said.judged(told):
        yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
    yield "</dl>"
    if said.summed(told):
        yield f"<h3>{escape(said.TERMS)}</h3>"
        yield from _table(told)
    parents = (
        f"{_entry(called(one.path, one.place), explained)} = {_whole(one.value)}"
        for one in told.parents
    )
    yield from _headed(said.PARENTS, parents)
    yield from _headed(said.USERS, (f"<code>{escape(one)}</code>" for one in said.users(told)))
    yield "</section>"


def _table(told: Explanation) -> Iterator[str]:
    yield "<div class='wide'><table class='numbers'>"
    for term in told.terms:
        token = said.token(term) and f"<code>{escape(said.token(term))}</code>"
        expression = f"<math>{mathml(term.node)}</math>"
        cells = (_whole(term.value), said.share(term), expression, token)
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    if more := said.rest(told):
        yield f"<tr><td>{more[0]}</td><td></td><td>{more[1]}</td><td></td></tr>"
    yield "</table></div>"


def _entry(name: str, explained: set[str]) -> str:
    code = f"<code>{escape(name)}</code>"
    return f"<a href='#{escape(name)}'>{code}</a>" if name in explained else code


def _whole(value: object) -> str:
    """A number to four digits, with all of them where the pointer rests."""
    return f"<span title='{escape(number(value))}'>{escape(said.short(value))}</span>"


def _headed(head: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"<h3>{escape(head)}</h3>"
        yield from _listed(found)


def _listed(lines: Iterable[str]) -> Iterator[str]:
    found = [f"<li>{line}</li>" for line in lines]
    if found:
        yield f"<ul>{''.join(found)}</ul>"
