"""A sheet with a mistake in it: what an `Edit` makes of one."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from handformer.checking.case import RIGHT
from handformer.checking.mistakes.mistake import Edit
from handformer.formula import Formula, FormulaError, Sheet
from handformer.formula.evaluate import evaluate
from handformer.formula.expression import Entry, Node, Scalar, rewrite
from handformer.formula.parse import parse
from handformer.formula.text import plain

ARROW = "->"
_BRACES = re.compile(r"\{([^{}]+)\}")


def matches(edit: Edit, line: str) -> re.Match[str] | None:
    """Whether an edit speaks of a line; the groups are what its stars stand for."""
    return _pattern(edit.line).fullmatch(line)


@cache
def _pattern(line: str) -> re.Pattern[str]:
    return re.compile(re.escape(line).replace(r"\*", "(.+?)"))


def edited(edit: Edit, sheet: Sheet, line: str, *, reshaped: bool = False) -> Sheet | None:
    """The sheet with one line edited; None: the line holds nothing that could be.

    Where the new line has more axes or less, or another letter, the value has another shape: those
    lines, and only those, are taken if it is `reshaped`.

    Where the new line mentions its own name, the line as it was stands beside it, as an
    abbreviation `right.name`.

    Raises
    ------
    FormulaError
        for an edit that isn't in the language
    """
    found = matches(edit, line)
    assert found is not None
    change = edit.change
    for number, text in enumerate(found.groups(), 1):
        change = change.replace(f"{{{number}}}", text)
    formula = sheet[line]
    new = _part(formula, change) if ARROW in change else _whole(formula, change)
    if new is None:
        return None
    if new.axes == formula.axes if reshaped else len(new.axes) != len(formula.axes):
        return None
    lines = [new if one.name == line else one for one in sheet]
    if any(name == RIGHT + line for name in (*new.inputs, *new.scalars)):
        lines.append(replace(formula, name=RIGHT + line, kept=False))
    return Sheet(tuple(lines))


def _part(formula: Formula, change: str) -> Formula | None:
    """A line with a part of it exchanged, wherever it stands; None: it stands nowhere."""
    old, new = (parse(side.strip()) for side in change.split(ARROW))
    body = rewrite(formula.body, lambda node: new if node == old else node)
    if body == formula.body:
        return None
    return Formula.build(formula.name, formula.axes, body, kept=formula.kept)


def _whole(formula: Formula, change: str) -> Formula:
    """Another line in the place of one; its own name means what it was."""
    new = Formula.parse(change)

    def right(node: Node) -> Node:
        match node:
            case Entry(name=name) if name == formula.name:
                return replace(node, name=RIGHT + name)
            case Scalar(name=name) if name == formula.name and not formula.axes:
                return replace(node, name=RIGHT + name)
        return node

    body = rewrite(new.body, right)
    return Formula.build(formula.name, new.axes, body, kept=formula.kept)


def told(text: str, says: str, scalars: Mapping[str, Any]) -> str:
    """A mistake's sentence with what is particular in it, and sizes followed by their values."""

    def number(found: re.Match[str]) -> str:
        inside = found[1]
        try:
            sheet = Sheet.parse(f"y = {inside}")
            value = float(evaluate(sheet, "y", {}, scalars))
        except (FormulaError, ValueError):
            return inside
        return f"{inside} ({value:.4g})"

    return _BRACES.sub(number, text.replace("{}", _BRACES.sub(number, says)))


def line_of(sheet: Sheet, name: str) -> str:
    """A line's text, in one form."""
    formula = sheet[name]
    left = f"{name}[{','.join(formula.axes)}]" if formula.axes else name
    return f"{left} = {plain(formula.body)}"
