"""The mathematics of a worked example in LaTeX: what Markdown and LaTeX pages have in common."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.examples.show.arrays import DIGITS
from handformer.examples.worked import Worked, WorkedStep
from handformer.formula import Expansion, Formula
from handformer.formula.expression import Entry, Index, Node, Number, Scalar
from handformer.formula.render import formula_latex, latex
from handformer.formula.rounded import rounded


def given(worked: Worked) -> Iterator[str]:
    """The inputs and the bare numbers, an equation each."""
    for name, array in worked.example.inputs.items():
        yield from _arrays(Scalar(name), array)
    for name, value in worked.scalars.items():
        yield f"{latex(Scalar(name))} = {_number(value)}"


def equations(step: WorkedStep, words: Mapping[str, str]) -> Iterator[str]:
    """The formula, the chosen entries, and the result."""
    yield formula_latex(step.formula, words)
    yield from (_entry(entry, step) for entry in step.entries)
    if step.array.size > len(step.entries):
        yield from _arrays(_left(step.formula), step.array)


def _entry(entry: Expansion, step: WorkedStep) -> str:
    places = tuple(Number(place) for place in entry.place)
    name = Entry(step.step.value, places) if places else Scalar(step.step.value)
    result = _number(bool(entry.value) if step.array.dtype == bool else entry.value)
    sides = dict.fromkeys(
        (latex(entry.symbols), latex(rounded(entry.numbers, entry.formula)), result)
    )
    lines = r" \\ ".join(f"&= {side}" for side in sides)
    return rf"\begin{{aligned}} {latex(name)} {lines} \end{{aligned}}"


def _left(formula: Formula) -> Node:
    if not formula.axes:
        return Scalar(formula.name)
    return Entry(formula.name, tuple(Index(letter) for letter in formula.axes))


def _arrays(name: Node, array: NDArray[Any]) -> Iterator[str]:
    """`name = matrix`; of an array with more than two axes each matrix, with its place."""
    if array.ndim == 0:
        yield f"{latex(name)} = {_number(array.item())}"
        return
    rows = np.atleast_2d(array)
    for place in np.ndindex(rows.shape[:-2]):
        yield f"{latex(_at(name, place))} = {_matrix(rows[place])}"


def _at(name: Node, place: tuple[int, ...]) -> Node:
    """The name of one matrix of an array: its first places are numbers, the others stay letters."""
    numbers = tuple(Number(at) for at in place)
    match name:
        case Entry(name=word, indices=indices):
            return Entry(word, (*numbers, *indices[len(place) :]))
        case Scalar(name=word) if place:
            return Entry(word, numbers)
    return name


def _matrix(rows: NDArray[Any]) -> str:
    inside = r" \\ ".join(" & ".join(_number(entry.item()) for entry in row) for row in rows)
    return rf"\begin{{bmatrix}} {inside} \end{{bmatrix}}"


def _number(value: Any) -> str:
    return latex(Number(value), DIGITS)
