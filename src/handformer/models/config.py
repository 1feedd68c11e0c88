"""The shape of a model: its family and its sizes."""

from difflib import get_close_matches
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from handformer.errors import InputError

Family = Literal["gpt2", "llama", "bert", "transformer"]
_Config = TypeVar("_Config", bound="Config")


class Config(BaseModel):
    """A frozen set of named settings; an unknown name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def read(cls, settings: dict[str, Any], where: str = "") -> Self:
        """Make a config from plain settings.

        Raises
        ------
        InputError
            one line that names the key, its value and what was expected
        """
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise InputError(_one_line(cls, error, where)) from None


def _one_line(cls: type[BaseModel], error: ValidationError, where: str) -> str:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join([*([where] if where else []), *path])
    if first["type"] == "extra_forbidden":
        for name in path[:-1]:  # a nested section knows its own keys
            annotation = cls.model_fields[name].annotation
            cls = annotation if isinstance(annotation, type) else cls
        near = get_close_matches(path[-1], cls.model_fields, n=3, cutoff=0.5)
        known = near or sorted(cls.model_fields)
        hint = "did you mean" if near else "there are"
        return f"unknown config key {key}; {hint} {', '.join(known)}"
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    return f"{key} = {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"


class ModelConfig(Config):
    """Family and sizes of a model. Sizes that are None follow from the others (see the properties).

    family
        gpt2: decoder, learned positions, LayerNorm, tanh-GELU, tied. llama: decoder, rotary
        positions, RMSNorm, SwiGLU, grouped heads. bert: encoder, post-norm, token types, masked
        tokens. transformer: encoder and decoder of 2017, sinusoidal, post-norm, cross-attention.
        tied whether the last map is the (target) embedding's table again shared transformer only:
        one vocabulary and one table for source and target
    """

    family: Family = "gpt2"
    vocab_size: int = Field(default=256, ge=1)
    source_vocab_size: int | None = Field(default=None, ge=1)
    context: int = Field(default=64, ge=1)
    n_layers: int = Field(default=4, ge=1)
    n_heads: int = Field(default=4, ge=1)
    n_kv_heads: int | None = Field(default=None, ge=1)
    d_model: int = Field(default=128, ge=1)
    d_k: int | None = Field(default=None, ge=1)
    d_ff: int | None = Field(default=None, ge=1)
    n_types: int = Field(default=2, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    eps: float | None = Field(default=None, gt=0)
    rope_base: float = Field(default=10000.0, gt=0)
    tied: bool | None = None
    shared: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.d_k is None and self.d_model % self.n_heads:
            raise ValueError(
                f"n_heads = {self.n_heads} doesn't divide d_model = {self.d_model}; "
                "choose a number of heads that does, or set d_k"
            )
        if self.n_heads % self.kv_heads:
            raise ValueError(
                f"n_kv_heads = {self.kv_heads} doesn't divide n_heads = {self.n_heads}; "
                "each key/value head serves the same number of query heads"
            )
        if self.family == "llama" and self.head_width % 2:
            raise ValueError(
                f"d_k = {self.head_width} is odd; rotary positions turn pairs, so it must be even"
            )
        if self.shared and self.family != "transformer":
            raise ValueError("shared = true needs family = transformer; use tied for the others")
        if self.shared and self.source_vocab_size not in (None, self.vocab_size):
            raise ValueError("shared = true needs source_vocab_size = vocab_size, or none")
        return self

    @property
    def head_width(self) -> int:
        """d_k: the width of a head, d_model / n_heads unless set."""
        return self.d_k or self.d_model // self.n_heads

    @property
    def kv_heads(self) -> int:
        """n_kv_heads: as many as n_heads unless set."""
        return self.n_kv_heads or self.n_heads

    @property
    def hidden(self) -> int:
        """d_ff: 4 d_model unless set; with a gate two thirds of that (a multiple of 8), for as many
        weights.
        """
        if self.d_ff:
            return self.d_ff
        return -(-8 * self.d_model // 24) * 8 if self.family == "llama" else 4 * self.d_model

    @property
    def norm_eps(self) -> float:
        """What is added to the variance: BERT's 1e-12, 1e-5 elsewhere, unless set."""
        return self.eps or (1e-12 if self.family == "bert" else 1e-5)

    @property
    def tied_head(self) -> bool:
        """Whether the head is tied: llama's isn't, the others' are, unless set."""
        return self.family != "llama" if self.tied is None else self.tied
