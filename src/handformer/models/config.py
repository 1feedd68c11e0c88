"""The shape of a model: its family and its sizes."""

from difflib import get_close_matches
from typing import Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from handformer.errors import InputError

Family = Literal["gpt2", "llama", "bert", "transformer"]
Attention = Literal["full", "flash"]
# Settings that only one family has.
_ONLY = {
    "source_vocab_size": "transformer", "shared": "transformer", "n_types": "bert",
    "rope_base": "llama",
}  # fmt: skip
_Config = TypeVar("_Config", bound="Config")


_LARGEST = 2**31 - 1
_FITS = f"expected at most {_LARGEST}"


class Config(BaseModel):
    """A frozen set of named settings; an unknown name is an error."""

    # Strict: true is no learning rate, and "12" no number of layers.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_monster(cls, value: Any, info: ValidationInfo) -> Any:
        """Sizes that no array can have are refused before anything is made of them."""
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise ValueError(f"{info.field_name} is a number of {value.bit_length()} bits; {_FITS}")
        return value

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
    path = [*([where] if where else []), *(str(part) for part in first["loc"])]
    key = ".".join(path)
    if first["type"] == "extra_forbidden":
        return f"unknown config key {key}; {_hint(cls, first['loc'])}"
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    return f"{key} = {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}"


def _hint(cls: type[BaseModel], path: tuple[int | str, ...]) -> str:
    """What an unknown key may have been meant to be: a key of that name, a near one, or any."""
    *sections, key = (str(part) for part in path)
    here = cls
    for name in sections:
        here = _section(here, name) or here
    elsewhere = [
        f"{name}.{key}"
        for name in cls.model_fields
        if (section := _section(cls, name)) and key in section.model_fields
    ]
    near = get_close_matches(key, here.model_fields, n=3, cutoff=0.5)
    prefix = "".join(f"{name}." for name in sections)
    found = elsewhere or [prefix + name for name in near or sorted(here.model_fields)]
    return f"{'did you mean' if elsewhere or near else 'there are'} {', '.join(found)}"


def _section(cls: type[BaseModel], name: str) -> type[BaseModel] | None:
    section: Any = cls.model_fields[name].annotation
    return section if isinstance(section, type) and issubclass(section, BaseModel) else None


class ModelConfig(Config):
    """Family and sizes of a model. Sizes that are None follow from the others (see the properties).

    gpt2            decoder: learned positions, LayerNorm, tanh-GELU, tied head
    llama           decoder: rotary positions, RMSNorm, SwiGLU, grouped heads
    bert            encoder: post-norm, token types, a head that guesses masked tokens
    transformer     encoder and decoder of 2017: sinusoidal, post-norm, cross-attention
    """

    family: Family = Field(default="gpt2", description="gpt2, llama, bert or transformer")
    vocab_size: int = Field(default=256, ge=1, description="entries; in a run its tokenizer's")
    source_vocab_size: int | None = Field(
        default=None, ge=1, description="transformer: the source's entries [vocab_size]"
    )
    context: int = Field(default=64, ge=1, description="tokens that the model sees at most")
    n_layers: int = Field(default=4, ge=1, description="blocks; transformer: on each side")
    n_heads: int = Field(default=4, ge=1, description="query heads")
    n_kv_heads: int | None = Field(default=None, ge=1, description="key/value heads [n_heads]")
    d_model: int = Field(default=128, ge=1, description="the model's width")
    d_k: int | None = Field(default=None, ge=1, description="a head's width [d_model / n_heads]")
    d_ff: int | None = Field(
        default=None,
        ge=1,
        description="the MLP's width [4 d_model; llama: about two thirds of that]",
    )
    n_types: int = Field(default=2, ge=1, description="bert: token types")
    attention: Attention = Field(
        default="full",
        description="full; flash: keeps no scores, for long contexts (not in a transformer)",
    )
    dropout: float = Field(default=0.0, ge=0, lt=1, description="chance of an entry to be dropped")
    eps: float | None = Field(
        default=None, gt=0, description="added to a norm's variance [1e-5; bert: 1e-12]"
    )
    rope_base: float = Field(
        default=10000.0, gt=0, description="llama: the base of the rotary angles"
    )
    tied: bool | None = Field(
        default=None, description="the head is the embedding's table again [llama: no; others: yes]"
    )
    shared: bool = Field(
        default=False, description="transformer: one vocabulary and table for both sides"
    )

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
        for name, family in _ONLY.items():
            default = type(self).model_fields[name].default
            if self.family != family and getattr(self, name) != default:
                raise ValueError(f"{name} is a setting of family = {family}, not {self.family}")
        if self.attention == "flash" and self.family == "transformer":
            raise ValueError(
                "attention = flash: a transformer's cross-attention has no such form; use full"
            )
        if self.attention == "flash" and self.dropout:
            raise ValueError(
                f"dropout = {self.dropout} needs attention = full: flash has no dropout"
            )
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


def check_family(config: ModelConfig, *families: Family) -> None:
    """Refuse a config of another family.

    Raises
    ------
    InputError
        that names the family, and those expected here
    """
    if config.family not in families:
        raise InputError(f"family = {config.family!r}: expected {' or '.join(families)} here")
