"""The models in which each op stands: GPT-2's shape and Llama's, and where neither has it, another.

Small, with weights of which none is neutral, dropout, padding, and tokens that occur again.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from handformer import tree
from handformer.layers.position import Alibi, Rotary
from handformer.selfcheck.cases.models import ModelCase, models

FAMILIES = ("gpt2", "llama")
# The liveliest first: the padded one with dropout.
_ORDER = ("dropout", "tied", "flash")


def candidates(seed: int) -> Iterator[tuple[str, list[ModelCase]]]:
    """By family the cases to look through for one that has the op; then those of any other kind."""
    every = models(np.random.default_rng(seed))
    of = {family: sorted((c for c in every if c.model.config.family == family), key=_rank)
          for family in FAMILIES}  # fmt: skip
    yield from of.items()
    gpt2, llama = (of[family][0] for family in FAMILIES)
    others = [_other(gpt2, activation=name) for name in ("relu", "gelu", "silu")]
    others += [_other(llama, activation="geglu"), _other(gpt2, position=Alibi())]
    others += [_other(llama, position=Rotary(pairs="rotary_interleaved"))]
    yield "other", others + [c for c in every if c.model.config.family not in FAMILIES]


def _rank(case: ModelCase) -> int:
    return next(n for n, word in enumerate((*_ORDER, "")) if word in case.label)


def _other(case: ModelCase, **settings: Any) -> ModelCase:
    """The same model whose MLPs or attentions have another setting."""
    model: Any = case.model
    part = "mlp" if "activation" in settings else "attention"
    blocks = tuple(
        replace(block, **{part: replace(getattr(block, part), **settings)})
        for block in model.blocks
    )
    said = next(iter(settings.values()))
    word = said if isinstance(said, str) else getattr(said, "pairs", type(said).__name__)
    label = f"{case.model.config.family} with {word}"
    return replace(case, label=label, layer=replace(model, blocks=blocks))


def in_dtype(case: ModelCase, dtype: Any) -> ModelCase:
    """The same case, its weights first rounded to float32: then both types start from one model."""
    narrow = tree.cast(case.layer, np.float32)
    return replace(case, layer=tree.cast(narrow, dtype))
