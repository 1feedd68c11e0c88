"""Small models of every kind with their tokenizers, as drawn: what they say doesn't matter."""

from functools import cache

from handformer.generate.text import TextModel
from handformer.models import CLASSES, ModelConfig
from handformer.text import Tokenizer

TEXTS = {"gpt2": "The cat", "llama": "The cat", "bert": "The cat", "transformer": "abc"}
CONTEXT = 8


@cache
def made(kind: str, letters: str = "") -> TextModel:
    """A model whose vocabulary is the letters of its text, and others."""
    special = {"bert": ["[MASK]"], "transformer": ["[BOS]", "[EOS]"]}.get(kind, [])
    tokenizer = Tokenizer.characters(f"{TEXTS[kind]} sees dog{letters}", special=special)
    own = {"llama": {"n_kv_heads": 1}, "transformer": {"shared": True}}.get(kind, {})
    config = ModelConfig(
        family=kind, vocab_size=tokenizer.vocab_size, context=CONTEXT, n_layers=2, n_heads=2,
        d_model=16, **own,
    )  # fmt: skip
    return TextModel(CLASSES[kind].init(config, seed=1), tokenizer)
