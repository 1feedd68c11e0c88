"""Ready-made cases: models and parts of all sizes, on numbers on which mistakes can't hide.

    catalogue()               what there is
    build("gpt2-tiny")        a trace to hold somebody's numbers against

They are made when they are asked for, from nothing but their names: the same everywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from handformer.checking.cases.counted import COUNTED
from handformer.errors import InputError
from handformer.formula.names import unknown
from handformer.tracing.trace import Trace


class Recipe(Protocol):
    """How a case is made."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Every size of it by name."""
        ...

    def build(self, name: str) -> Trace:
        """Make it."""
        ...


@dataclass(frozen=True)
class CaseInfo:
    """What is said of a case before it is made.

    name, says
        what it is called, and one sentence of what is in it
    family
        of a model its own; else the kind of part
    sizes
        every size by name
    values, nbytes
        how many arrays it holds, and about how many bytes they take
    """

    name: str
    says: str
    family: str
    sizes: Mapping[str, int]
    values: int
    nbytes: int


@dataclass(frozen=True)
class Elsewhere:
    """A case that a function of another module here makes."""

    module: str
    function: str
    arguments: tuple[Any, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def there(self) -> bool:
        """Whether there is such a module."""
        return find_spec(f"{__name__}.{self.module}") is not None

    def build(self, name: str) -> Trace:
        """Make it."""
        function = getattr(import_module(f"{__name__}.{self.module}"), self.function)
        made: Trace = function(*self.arguments)
        return Trace(made.manifest.model_copy(update={"name": name}), {p: made[p] for p in made})


OTHERS: dict[str, tuple[str, str, Elsewhere]] = {
    "training": (
        "training", "Five updates by AdamW: micro-batches, clipping, schedule, moments.",
        Elsewhere("training", "training_case"),
    ),
    "training-betas": (
        "training", "The same with Adam's own betas: numbers that are fixed in the code show.",
        Elsewhere("training", "training_form", ("betas",)),
    ),
    "training-sgd": (
        "training", "The same by SGD: its moment is a sum, and the decay stays out of it.",
        Elsewhere("training", "training_form", ("sgd",)),
    ),
    "training-scaled": (
        "training", "AdamW with a loss scale, as for float16: undo it, and only then clip.",
        Elsewhere("training", "training_form", ("scaled",)),
    ),
    "training-constant": (
        "training", "AdamW with a rate that stays after the warm-up, and rises no further.",
        Elsewhere("training", "training_form", ("constant",)),
    ),
    "training-no-room": (
        "training", "AdamW with a warm-up that leaves no update for the decay: divide by no 0.",
        Elsewhere("training", "training_form", ("no-room",)),
    ),
    "generation": (
        "generation", "Cached generation with Llama: a prompt, one token, several, a new prompt.",
        Elsewhere("generation", "generation_case"),
    ),
    "generation-gpt2": (
        "generation", "Cached generation with GPT-2.",
        Elsewhere("generation", "generation_case", ("gpt2",)),
    ),
    "generation-window": (
        "generation", "Cached generation in which the oldest keys are dropped.",
        Elsewhere("generation", "generation_case", ("window",)),
    ),
    "sampling": (
        "sampling", "Temperature, penalties, top-k and top-p, and what they keep.",
        Elsewhere("sampling", "sampling_case"),
    ),
}  # fmt: skip


def catalogue() -> tuple[CaseInfo, ...]:
    """Every case that there is: parts, whole models from small to large, and what goes beyond."""
    return tuple(
        CaseInfo(name, says, family, made.sizes, *COUNTED.get(name, (0, 0)))
        for name, (family, says, made) in _table().items()
    )


def build(name: str) -> Trace:
    """Make a case. One of a model in real size takes a minute, and several gigabytes of memory.

    Raises
    ------
    InputError
        where there is none of this name, with the near ones
    """
    table = _table()
    if name not in table:
        raise InputError(f"{unknown('case', name, table)}; `handformer check --list` names all")
    return table[name][2].build(name)


@cache
def _table() -> dict[str, tuple[str, str, Recipe]]:
    """Family, sentence and recipe of every case."""
    from handformer.checking.cases.models import MODELS  # noqa: PLC0415 (they load every layer)
    from handformer.checking.cases.parts import PARTS  # noqa: PLC0415

    models = {name: (made.config.family, says, made) for name, (says, made) in MODELS.items()}
    others = {name: row for name, row in OTHERS.items() if row[2].there}
    return {**PARTS, **models, **others}
