"""A worked example as a LaTeX document that can be compiled as it is."""

from collections.abc import Iterator

from handformer.examples.show.typeset import equations, given
from handformer.examples.worked import Worked
from handformer.formula.paper import display, paper, prose


def document(worked: Worked) -> str:
    """The whole example, a section a step."""
    return paper(_lines(worked), language=worked.language.code)


def _lines(worked: Worked) -> Iterator[str]:
    example, language = worked.example, worked.language
    yield rf"\section*{{{prose(example.title)}}}"
    yield prose(example.words)
    yield from display(given(worked))
    yield language.places
    yield ""
    yield r"\begin{tabular}{ll}"
    yield from (rf"${letter}$ & {prose(language.legend[letter])} \\" for letter in worked.letters)
    yield r"\end{tabular}"
    yield ""
    for count, step in enumerate(worked.steps, 1):
        yield rf"\subsection*{{{count}. {prose(f'`{step.step.value}`')}}}"
        yield prose(step.step.words)
        yield from display(equations(step, language.formula))
    yield rf"\subsection*{{{language.take_home}}}"
    yield prose(example.lesson)
