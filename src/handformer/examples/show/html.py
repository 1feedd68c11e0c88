"""A worked example as a page of its own, its mathematics in MathML."""

from collections.abc import Iterator
from html import escape

from handformer.examples.language import Language
from handformer.examples.worked import Worked, WorkedStep
from handformer.formula import Expansion
from handformer.formula.expression import Entry, Index, Node, Number, Scalar
from handformer.formula.page import assignments, equation, page, prose, tables
from handformer.formula.render import mathml
from handformer.formula.rounded import DIGITS, rounded


def html(worked: Worked) -> str:
    """The whole example; a step's heading can be linked to by its value's name."""
    return page(worked.example.title, _lines(worked), language=worked.language.code)


def _lines(worked: Worked) -> Iterator[str]:
    example, language = worked.example, worked.language
    yield f"<h1>{prose(example.title)}</h1>"
    yield f"<p>{prose(example.words)}</p>"
    yield f"<h2>{escape(language.given)}</h2>"
    yield tables(example.inputs, language.every_digit)
    if worked.scalars:
        yield assignments(worked.scalars)
    yield f"<p class='soft'>{escape(language.places)}</p>"
    yield "<dl>"
    for letter in worked.letters:
        yield f"<dt>{escape(letter)}</dt><dd>{escape(language.legend[letter])}</dd>"
    yield "</dl>"
    for count, step in enumerate(worked.steps, 1):
        name = escape(step.step.value)
        yield f"<section id='{name}'>"
        yield f"<h2>{count}. <code>{name}</code></h2>"
        yield f"<p>{prose(step.step.words)}</p>"
        yield from _step(step, language)
        yield "</section>"
    yield f"<h2>{escape(language.take_home)}</h2>"
    yield f"<p>{prose(example.lesson)}</p>"


def _step(step: WorkedStep, language: Language) -> Iterator[str]:
    letters = tuple(Index(letter) for letter in step.formula.axes)
    yield equation(_name(step, letters), (mathml(step.formula.body, words=language.formula),))
    for entry in step.entries:
        places = tuple(Number(place) for place in entry.place)
        yield equation(_name(step, places), _sides(entry, step))
    yield tables({step.step.value: step.array}, language.every_digit)


def _name(step: WorkedStep, places: tuple[Node, ...]) -> Node:
    return Entry(step.step.value, places) if places else Scalar(step.step.value)


def _sides(entry: Expansion, step: WorkedStep) -> tuple[str, ...]:
    result = bool(entry.value) if step.array.dtype == bool else entry.value
    return (
        mathml(entry.symbols),
        mathml(rounded(entry.numbers, entry.formula)),
        mathml(Number(result), DIGITS),
    )
