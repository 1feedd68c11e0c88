"""Every mistake of the catalogue made in our own formulas, and in our own code: is it seen?

A mistake is made at one place: one edit, at one line of one op or layer. In the formula: the edited
line, evaluated on our numbers, isn't what our code computed. In the code: the op returns what the
edited line gives, and `selfcheck` says that the value is wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from handformer.checking.case import Step
from handformer.checking.mistakes import CATALOGUE, Mistake, Shows
from handformer.checking.mistakes.edited import matches
from handformer.models import CLASSES
from handformer.selfcheck.ops import distance
from handformer.selfcheck.parts import VALUES
from tests.selfcheck.beyond import beyond
from tests.selfcheck.planted import InLayer, in_op
from tests.selfcheck.subjects import Edits, Subject, every, of_layers, of_ops

# What a subject that isn't an op, a layer or a model is held against.
_BEYOND = {
    "training": (Shows.STEPS, Shows.SCHEDULE),
    "generation": (Shows.GENERATION,),
    "sampling": (Shows.SAMPLING,),
}

_MODELS = {model.__name__ for model in CLASSES.values()}


class Made(NamedTuple):
    """One edit of a mistake, at one place: a kind of subject, and a line in it."""

    id: str
    number: int
    kind: str
    place: str


@dataclass
class Kills:
    """Where each mistake was made, and by what it was seen."""

    met: dict[Made, Edits] = field(default_factory=dict)
    formula: dict[Made, str] = field(default_factory=dict)
    code: dict[Made, str] = field(default_factory=dict)

    def survivors(self) -> list[Made]:
        """Those that weren't seen both ways."""
        return [one for one in self.met if not (one in self.formula and one in self.code)]


@cache
def kills() -> Kills:
    """Try everything."""
    found = Kills()
    for make in (of_ops, of_layers, beyond):
        for subject in make():
            _try(subject, found)
    return found


def _try(subject: Subject, found: Kills) -> None:
    planted = None
    for step, chain in subject.steps:
        place = subject.place(step)
        for mistake, number, edits in _candidates(subject.kind, subject.lines(chain)):
            made = Made(mistake.id, number, _kind(subject, step), place)
            if made in found.formula and made in found.code:
                continue
            sheets = subject.sheets(chain, edits)
            wrong = subject.mistaken(step.path, sheets) if sheets else None
            if wrong is None:
                continue
            found.met[made] = edits
            if not distance(wrong, subject.ours[step.path]) > VALUES:
                continue
            found.formula[made] = f"{subject.kind} {subject.name}"
            if subject.kind == "op":
                seen = subject.name if in_op(subject, step.path, wrong) else ""
            elif subject.kind in ("layer", "model"):
                planted = planted or InLayer(subject)
                seen = planted.sees(step.path, wrong)
            else:
                seen = _replaced(subject, step, wrong)
            if seen:
                found.code[made] = seen


def _kind(subject: Subject, step: Step) -> str:
    """A layer is one wherever it stands: also in a model."""
    if subject.kind != "model":
        return subject.kind
    return "model" if subject.case.layer(step.scope) in _MODELS else "layer"


def _replaced(subject: Subject, step: Step, wrong: object) -> str:
    """Whether the right formula tells the mistaken number that our code would hand out."""
    right = subject.desk.value_at(step.path, None)
    return subject.kind if distance(wrong, right) > VALUES else ""


@cache
def _candidates(kind: str, lines: frozenset[str]) -> tuple[tuple[Mistake, int, Edits], ...]:
    """The edits that speak of one of these lines."""
    return tuple(_speaking(kind, lines))


def _speaking(kind: str, lines: frozenset[str]) -> Iterator[tuple[Mistake, int, Edits]]:
    wanted = _BEYOND.get(kind, tuple(Shows))
    for mistake in CATALOGUE:
        if mistake.shows in wanted:
            for number, edits in enumerate(every(mistake)):
                if any(matches(edit, line) for edit in edits for line in lines):
                    yield mistake, number, edits
