"""A worked example as JSON, for a program: every number whole, never rounded.

What JSON has no number for stands as a string: "inf", "-inf".
"""

import json
from math import isfinite
from typing import Any

import numpy as np

from handformer.examples.language import Language
from handformer.examples.worked import Worked, WorkedStep
from handformer.formula import Expansion
from handformer.formula.render import formula_latex, formula_text, plain


def record(worked: Worked) -> str:
    """The whole example as one JSON object."""
    example = worked.example
    told = {
        "name": example.name,
        "title": example.title,
        "words": example.words,
        "inputs": {name: whole(array) for name, array in example.inputs.items()},
        "scalars": {name: whole(value) for name, value in worked.scalars.items()},
        "axes": {letter: worked.language.legend[letter] for letter in worked.letters},
        "steps": [_step(step, worked.language) for step in worked.steps],
        "lesson": example.lesson,
    }
    return json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _step(step: WorkedStep, language: Language) -> dict[str, Any]:
    return {
        "name": step.step.value,
        "words": step.step.words,
        "formula": formula_text(step.formula),
        "latex": formula_latex(step.formula, language.formula),
        "entries": [_entry(entry) for entry in step.entries],
        "value": whole(step.array),
        "by_hand": whole(step.hand),
    }


def _entry(entry: Expansion) -> dict[str, Any]:
    return {
        "place": list(entry.place),
        "symbols": plain(entry.symbols),
        "numbers": plain(entry.numbers),
        "value": whole(entry.value),
        "from": [
            {"name": name, "place": list(place), "value": whole(value)}
            for name, place, value in entry.parents
        ],
    }


def whole(value: Any) -> Any:
    """A value for JSON: arrays as nested lists, down to numbers that JSON knows."""
    if isinstance(value, np.ndarray | np.generic):
        return whole(value.tolist())
    if isinstance(value, list | tuple):
        return [whole(part) for part in value]
    return value if isfinite(value) else str(value)
