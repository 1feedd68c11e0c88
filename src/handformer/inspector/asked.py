"""What the page may ask for in a body: JSON of exactly these shapes."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handformer.errors import InputError
from handformer.generate.sampling import Sampling

_LONGEST = 100_000  # characters
_SEEDS = 2**53  # as many whole numbers as JavaScript knows


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Run(_Question):
    """A text to run, and, with two sides, what belongs to it."""

    text: str = Field(max_length=_LONGEST)
    targets: str | None = Field(default=None, max_length=_LONGEST)


class Generate(_Question):
    """A text to write on from, and how the tokens are chosen."""

    text: str = Field(max_length=_LONGEST)
    temperature: float = 0.8
    top_k: int | None = None
    top_p: float | None = None
    seed: int = Field(default=0, ge=0, lt=_SEEDS)

    @property
    def sampling(self) -> Sampling:
        """How tokens are chosen; InputError for a number outside its range."""
        return Sampling(temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)


class GenerateOn(_Question):
    """One token more."""


Kind = TypeVar("Kind", bound=_Question)


def read(body: bytes, kind: type[Kind]) -> Kind:
    """A body as what was asked for.

    Raises
    ------
    InputError
        where it isn't JSON of that shape, naming the place
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the request"
        raise InputError(f"{place}: {first['msg']}") from None
