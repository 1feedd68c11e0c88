"""A worked example as plain text for a terminal."""

from collections.abc import Iterator

from handformer.examples.show.arrays import DIGITS, beside, labelled
from handformer.examples.show.prose import columns, wrap
from handformer.examples.worked import Worked, WorkedStep
from handformer.formula import Expansion
from handformer.formula.breaking import INDENT, WIDTH, broken, equation
from handformer.formula.render import formula_text, number, plain
from handformer.formula.rounded import rounded

_RULE = "─"


def text(worked: Worked) -> str:
    """The whole example: what is given, each step, and what to take home."""
    return "\n".join(line.rstrip() for line in _lines(worked)) + "\n"


def prose(words: str) -> list[str]:
    """A paragraph, without the marks around names."""
    return wrap(words.replace("`", ""), WIDTH)


def _lines(worked: Worked) -> Iterator[str]:
    example, language = worked.example, worked.language
    yield from (example.title, "═" * columns(example.title), "", *prose(example.words), "")
    inputs = (labelled(name, array, WIDTH) for name, array in example.inputs.items())
    yield from (*beside(inputs, WIDTH), "")
    if worked.scalars:
        numbers = ([f"{name} = {number(value, DIGITS)}"] for name, value in worked.scalars.items())
        yield from (*beside(numbers, WIDTH), "")
    yield from prose(language.places)
    yield from (f"{INDENT}{letter}  {language.legend[letter]}" for letter in worked.letters)
    for count, step in enumerate(worked.steps, 1):
        yield from ("", _rule(f"{count}  {step.step.value}"), "")
        yield from _step(step)
    yield from ("", _RULE * WIDTH, "", *prose(example.lesson))


def _rule(head: str) -> str:
    return f"{_RULE * 2} {head} ".ljust(WIDTH, _RULE)


def _step(step: WorkedStep) -> Iterator[str]:
    yield from (*prose(step.step.words), "")
    left, _, right = formula_text(step.formula).partition(" = ")
    yield from broken(left, right)
    for entry in step.entries:
        yield ""
        yield from _entry(entry, step)
    if step.array.size > len(step.entries):
        yield ""
        shown = labelled(step.step.value, step.array, WIDTH - len(INDENT))
        yield from (f"{INDENT}{line}" for line in shown)


def _entry(entry: Expansion, step: WorkedStep) -> Iterator[str]:
    places = ",".join(map(str, entry.place))
    label = f"{step.step.value}[{places}]" if places else step.step.value
    result = number(bool(entry.value) if step.array.dtype == bool else entry.value, DIGITS)
    yield from equation(
        label, (plain(entry.symbols), plain(rounded(entry.numbers, entry.formula)), result)
    )
