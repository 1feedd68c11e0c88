"""An example worked out: each step with its formula, entries in their arithmetic, the result.

The values are those of the code; formula and numbers by hand are held against them in `verify`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.examples.example import Example, Hand, Run, Scalars, Step
from handformer.examples.language import ENGLISH, Language
from handformer.formula import Expansion, Formula, evaluate, expand
from handformer.formula.expression import Entry, Index, Reduction, Scalar, walk
from handformer.selfcheck.ops import Finding, distance


@dataclass(frozen=True)
class WorkedStep:
    """One value: its formula, the chosen entries expanded, all its numbers, and those by hand.

    `reads` are the arrays that the formula names.
    """

    step: Step
    formula: Formula
    entries: tuple[Expansion, ...]
    array: NDArray[Any]
    hand: Hand
    reads: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Worked:
    """A whole example, ready to be shown; `letters` are the axes that its formulas name.

    The example's texts are those of the language.
    """

    example: Example
    steps: tuple[WorkedStep, ...]
    scalars: Scalars
    letters: tuple[str, ...]
    language: Language


def work(example: Example, language: Language = ENGLISH) -> Worked:
    """Run the example and expand its entries."""
    example = language.tell(example)
    run = _run(example)
    steps = tuple(
        WorkedStep(
            step,
            run.sheet[step.value],
            tuple(expand(run.sheet, step.value, at, run.values, run.scalars) for at in step.at),
            _array(run, step.value),
            example.expected[step.value],
            {name: _array(run, name) for name in _reads(run, step.value)},
        )
        for step in example.steps
    )
    named = dict.fromkeys(name for step in steps for name in step.formula.scalars)
    scalars = {name: run.scalars[name] for name in named if name in run.scalars}
    letters = {letter for step in steps for letter in _letters(step.formula)}
    shown = tuple(letter for letter in language.legend if letter in letters)
    return Worked(example, steps, scalars, shown, language)


def verify(example: Example) -> tuple[Finding, ...]:
    """How far each value is from the number by hand: the code's or the formula's, the farther."""
    run = _run(example)
    findings = []
    for name, hand in example.expected.items():
        right = np.asarray(hand, dtype=np.float64)
        stated = evaluate(run.sheet, name, run.values, run.scalars)
        far = max(distance(_array(run, name), right), distance(stated, right))
        findings.append(Finding(name, far))
    return tuple(findings)


def _run(example: Example) -> Run:
    run = example.code(example.inputs, example.scalars)
    return Run(run.sheet, {**example.inputs, **run.values}, run.scalars)


def _array(run: Run, name: str) -> NDArray[Any]:
    """The code's value; an abbreviation of the formulas, which no code keeps, is evaluated."""
    if name in run.values:
        return run.values[name]
    return evaluate(run.sheet, name, run.values, run.scalars)


def _reads(run: Run, value: str) -> Iterator[str]:
    """The arrays that a value's formula names, in its order: entries, and values without axes."""
    for node in dict.fromkeys(walk(run.sheet[value].body)):
        match node:
            case Entry(name=name):
                yield name
            case Scalar(name=name) if name not in run.scalars:
                if name in run.values or name in run.sheet:
                    yield name


def _letters(formula: Formula) -> set[str]:
    found = set(formula.axes)
    for node in walk(formula.body):
        match node:
            case Index(letter=letter):
                found.add(letter)
            case Reduction(letters=letters):
                found |= {*letters}
    return found
