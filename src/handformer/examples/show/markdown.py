"""A worked example as Markdown, its mathematics between double dollar signs."""

from collections.abc import Iterable, Iterator

from handformer.examples.show.typeset import equations, given
from handformer.examples.worked import Worked


def markdown(worked: Worked) -> str:
    """The whole example, a heading a step."""
    return "\n\n".join(_paragraphs(worked)) + "\n"


def _paragraphs(worked: Worked) -> Iterator[str]:
    example, language = worked.example, worked.language
    yield f"# {example.title}"
    yield example.words
    yield from _display(given(worked))
    yield language.places
    yield "\n".join(f"- `{letter}`: {language.legend[letter]}" for letter in worked.letters)
    for count, step in enumerate(worked.steps, 1):
        yield f"## {count}. `{step.step.value}`"
        yield step.step.words
        yield from _display(equations(step, language.formula))
    yield f"## {language.take_home}"
    yield example.lesson


def _display(formulas: Iterable[str]) -> Iterator[str]:
    return (f"$$\n{formula}\n$$" for formula in formulas)
