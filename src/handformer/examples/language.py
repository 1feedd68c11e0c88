"""The languages in which examples are told: the texts of each example, the words that all share.

English stands in the examples themselves; another language holds the same texts beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from handformer.axes import LEGEND
from handformer.examples.example import Example
from handformer.formula.display import WORDS


@dataclass(frozen=True)
class Telling:
    """An example's texts in another language; `steps` by the value that a step shows."""

    title: str
    words: str
    steps: Mapping[str, str]
    lesson: str


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language: its code, as in HTML's `lang`, and what is said around every example.

    `texts` hold the examples by name; one that isn't there keeps its own words. `formula` are the
    words that stand in formulas.
    """

    code: str
    places: str
    legend: Mapping[str, str]
    formula: Mapping[str, str]
    given: str
    every_digit: str
    take_home: str
    see: str
    texts: Mapping[str, Telling]

    def tell(self, example: Example) -> Example:
        """The same example with its texts in this language."""
        telling = self.texts.get(example.name)
        if telling is None:
            return example
        steps = tuple(replace(step, words=telling.steps[step.value]) for step in example.steps)
        return replace(
            example, title=telling.title, words=telling.words, steps=steps, lesson=telling.lesson
        )


ENGLISH = Language(
    code="en",
    places="Letters stand for places, counted from 0; a sum runs over all places of its letter.",
    legend=LEGEND,
    formula=WORDS,
    given="What is given",
    every_digit="Every digit",
    take_home="What to take home",
    see="handformer example identity   prints the first; --format markdown, latex, html or json",
    texts={},
)
