"""A worked example as plain text for a terminal."""

import re
from collections.abc import Iterator
from textwrap import wrap

from handformer.axes import LEGEND
from handformer.examples.show.arrays import DIGITS, beside, labelled
from handformer.examples.show.rounded import rounded
from handformer.examples.worked import PLACES, Worked, WorkedStep
from handformer.formula import Expansion
from handformer.formula.render import formula_text, number, plain

WIDTH = 80
_INDENT = " " * 4
_RULE = "─"
_BREAKS = re.compile(r" (?=[-+*/] |and |or )|(?<=,) ")


def text(worked: Worked) -> str:
    """The whole example: what is given, each step, and what to take home."""
    return "\n".join(line.rstrip() for line in _lines(worked)) + "\n"


def prose(words: str, indent: str = "") -> list[str]:
    """A paragraph, without the marks around names."""
    return wrap(
        words.replace("`", ""), WIDTH, initial_indent=indent, subsequent_indent=indent,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


def _lines(worked: Worked) -> Iterator[str]:
    example = worked.example
    yield from (example.title, "═" * len(example.title), "", *prose(example.words), "")
    inputs = (labelled(name, array, WIDTH) for name, array in example.inputs.items())
    yield from (*beside(inputs, WIDTH), "")
    if worked.scalars:
        numbers = ([f"{name} = {number(value, DIGITS)}"] for name, value in worked.scalars.items())
        yield from (*beside(numbers, WIDTH), "")
    yield from prose(PLACES)
    yield from (f"{_INDENT}{letter}  {LEGEND[letter]}" for letter in worked.letters)
    for count, step in enumerate(worked.steps, 1):
        yield from ("", _rule(f"{count}  {step.step.value}"), "")
        yield from _step(step)
    yield from ("", _RULE * WIDTH, "", *prose(example.lesson))


def _rule(head: str) -> str:
    return f"{_RULE * 2} {head} ".ljust(WIDTH, _RULE)


def _step(step: WorkedStep) -> Iterator[str]:
    yield from (*prose(step.step.words), "")
    left, _, right = formula_text(step.formula).partition(" = ")
    yield from _broken(left, right)
    for entry in step.entries:
        yield ""
        yield from _entry(entry, step)
    if step.array.size > len(step.entries):
        yield ""
        shown = labelled(step.step.value, step.array, WIDTH - len(_INDENT))
        yield from (f"{_INDENT}{line}" for line in shown)


def _entry(entry: Expansion, step: WorkedStep) -> Iterator[str]:
    places = ",".join(map(str, entry.place))
    label = f"{step.step.value}[{places}]" if places else step.step.value
    result = number(bool(entry.value) if step.array.dtype == bool else entry.value, DIGITS)
    sides = dict.fromkeys((plain(entry.symbols), plain(rounded(entry)), result))
    for side in sides:
        yield from _broken(label, side)
        label = " " * len(label)


def _broken(label: str, side: str) -> Iterator[str]:
    """`label = side`, broken where it is too long: as far out and as late as can be."""
    start = f"{_INDENT}{label} = "
    further = " " * (len(start) + 2)
    while len(start) + len(side) > WIDTH:
        room = WIDTH - len(start)
        breaks = [found.start() for found in _BREAKS.finditer(side) if found.start() <= room]
        if not breaks:
            break
        late = [place for place in breaks if 4 * place >= room] or breaks
        at = min(reversed(late), key=lambda place: _hold(side, place))
        yield start + side[:at]
        start, side = further, side[at + 1 :]
    yield start + side


def _hold(side: str, place: int) -> tuple[int, bool]:
    """How firmly the parts hold together that a break would separate: brackets, then products."""
    inside = sum((letter in "([") - (letter in ")]") for letter in side[:place])
    return inside, side[place + 1] in "*/"
