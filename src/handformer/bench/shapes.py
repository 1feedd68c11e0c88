"""What is timed: three models that learn, from small to GPT-2's smallest, and one that writes."""

from dataclasses import dataclass

from handformer.errors import InputError
from handformer.models.config import ModelConfig


@dataclass(frozen=True)
class Shape:
    """A model and how much it is given: `batch` windows of its context, or one text to write on."""

    name: str
    title: str
    config: ModelConfig
    batch: int


def _learner(
    name: str, title: str, *, vocab: int, context: int, layers: int, heads: int, width: int,
    batch: int,
) -> Shape:  # fmt: skip
    config = ModelConfig(
        family="gpt2", vocab_size=vocab, context=context, n_layers=layers, n_heads=heads,
        d_model=width,
    )  # fmt: skip
    return Shape(name, title, config, batch)


LEARNERS = (
    _learner(
        "A", "a small character model",
        vocab=65, context=64, layers=4, heads=4, width=128, batch=12,
    ),
    _learner(
        "B", "a medium character model",
        vocab=65, context=256, layers=6, heads=6, width=384, batch=8,
    ),
    _learner(
        "C", "GPT-2, 124 million weights",
        vocab=50257, context=64, layers=12, heads=12, width=768, batch=4,
    ),
)  # fmt: skip
WRITER = Shape(
    "G",
    "a Llama of 135 million weights",
    ModelConfig(
        family="llama", vocab_size=49152, context=2048, n_layers=30, n_heads=9, n_kv_heads=3,
        d_model=576, d_k=64, d_ff=1536, tied=True,
    ),
    1,
)  # fmt: skip
SHAPES = {shape.name: shape for shape in (*LEARNERS, WRITER)}


def chosen(names: str) -> list[Shape]:
    """The shapes of a list such as "A,G", or "all", in their own order.

    Raises
    ------
    InputError
        where a name is none of a shape
    """
    asked = {name.strip().upper() for name in names.split(",")}
    if "ALL" in asked:
        return list(SHAPES.values())
    for name in asked - SHAPES.keys():
        raise InputError(
            f"--shape {names}: there is no shape {name!r}; expected a list of {', '.join(SHAPES)}, "
            "or all"
        )
    return [shape for name, shape in SHAPES.items() if name in asked]
