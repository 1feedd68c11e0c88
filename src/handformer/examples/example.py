"""What a worked example is: simple inputs, code that runs, and the numbers found on paper."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from handformer.formula import Sheet

Place = tuple[int, ...]
Values = Mapping[str, NDArray[Any]]
Scalars = Mapping[str, Any]
Hand = float | Sequence["Hand"]


@dataclass(frozen=True)
class Run:
    """What the code computed, by the names of the record, and the formulas it should follow."""

    sheet: Sheet
    values: Values
    scalars: Scalars


# From the inputs and the bare numbers of the formulas to every value.
Code = Callable[[Values, Scalars], Run]


@dataclass(frozen=True)
class Step:
    """One value of an example.

    `words` say what it is for; a name in backquotes is a value. `at` are the entries that are shown
    in their arithmetic.
    """

    value: str
    words: str
    at: tuple[Place, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Example:
    """An example that can be done on paper.

    `expected` holds what was found on paper for every value that is shown: plain numbers and
    Python's `math`, nothing of what is being checked. `lesson` says what to take home.
    """

    name: str
    title: str
    words: str
    inputs: Values
    code: Code
    steps: tuple[Step, ...]
    expected: Mapping[str, Hand]
    lesson: str
    scalars: Scalars = field(default_factory=dict)
