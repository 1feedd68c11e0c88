"""The worked examples as a tour: what the page needs to walk through them, screen by screen.

The order is a learner's: attention first, then what is hidden, several heads, norms, the way back,
and what stands around them. Every number is whole, every formula a tree; the page makes no numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from handformer.examples import EXAMPLES, LANGUAGES, work
from handformer.examples.show.record import whole
from handformer.examples.worked import Worked, WorkedStep
from handformer.formula import Expansion, Formula
from handformer.formula.encode import encode
from handformer.formula.expression import Entry, walk
from handformer.formula.render import formula_text, plain

__all__ = ["LANGUAGES", "PARTS", "Part", "tour"]


@dataclass(frozen=True)
class Part:
    """Some examples that belong together; titles by language."""

    name: str
    titles: Mapping[str, str]
    examples: tuple[str, ...]


PARTS = (
    Part(
        "attention",
        {"en": "Attention, step by step", "zh": "注意力，一步一步来"},
        ("identity",),
    ),
    Part(
        "masks",
        {"en": "Softmax and what is hidden", "zh": "softmax 与掩码"},
        ("softmax-large", "causal-mask", "hidden-row"),
    ),
    Part(
        "heads",
        {"en": "Several heads, and positions", "zh": "多个头，以及位置"},
        ("two-heads", "grouped-heads", "rotation"),
    ),
    Part(
        "norms",
        {"en": "Norms and activations", "zh": "归一化与激活函数"},
        ("layer-norm", "rms-norm", "gelu", "swiglu"),
    ),
    Part(
        "backward",
        {"en": "The way back", "zh": "反向"},
        ("identity-backward",),
    ),
    Part(
        "tokens",
        {"en": "From tokens to the loss", "zh": "从词元到损失"},
        ("embedding", "cross-entropy"),
    ),
    Part(
        "use",
        {"en": "Learning and writing", "zh": "训练与生成"},
        ("adamw", "top-p"),
    ),
)


@cache
def tour(language: str) -> dict[str, Any]:
    """All examples in a language of `LANGUAGES`, as what JSON knows.

    parts
        name, title, and the names of its examples, in the order of the tour
    examples
        by name: the texts, the letters, the given numbers, and every array once under "arrays";
        each step with its formula, the arrays that it reads, and its entries in their arithmetic
    """
    told = LANGUAGES[language]
    return {
        "language": language,
        "places": told.places,
        "parts": [
            {"name": part.name, "title": part.titles[language], "examples": list(part.examples)}
            for part in PARTS
        ],
        "examples": {
            name: _example(work(EXAMPLES[name], told)) for part in PARTS for name in part.examples
        },
    }


def _example(worked: Worked) -> dict[str, Any]:
    example = worked.example
    arrays = dict(example.inputs)
    for step in worked.steps:
        arrays |= {**step.reads, step.step.value: step.array}
    return {
        "name": example.name,
        "title": example.title,
        "words": example.words,
        "lesson": example.lesson,
        "letters": {letter: worked.language.legend[letter] for letter in worked.letters},
        "scalars": {name: whole(value) for name, value in worked.scalars.items()},
        "inputs": list(example.inputs),
        "arrays": {
            name: {"shape": list(array.shape), "value": whole(array)}
            for name, array in arrays.items()
        },
        "steps": [_step(step) for step in worked.steps],
    }


def _step(step: WorkedStep) -> dict[str, Any]:
    formula = step.formula
    axes = _axes(formula)
    return {
        "name": step.step.value,
        "words": step.step.words,
        "formula": {
            "text": formula_text(formula),
            "name": formula.name,
            "axes": list(formula.axes),
            "body": encode(formula.body),
        },
        "reads": [{"name": name, "axes": axes.get(name, [])} for name in step.reads],
        "entries": [_entry(entry, step) for entry in step.entries],
    }


def _entry(entry: Expansion, step: WorkedStep) -> dict[str, Any]:
    value = bool(entry.value) if step.array.dtype == bool else entry.value
    return {
        "place": list(entry.place),
        "symbols": encode(entry.symbols),
        "numbers": encode(entry.numbers),
        "value": whole(value),
        "from": [{"name": name, "place": list(place)} for name, place, _ in entry.parents],
    }


def _axes(formula: Formula) -> dict[str, list[str]]:
    """What a formula calls the axes of the arrays that it reads: letters, or as in h // group."""
    found: dict[str, list[str]] = {}
    for node in walk(formula.body):
        if isinstance(node, Entry) and node.name not in found:
            found[node.name] = [plain(place) for place in node.indices]
    return found
