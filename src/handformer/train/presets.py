"""Settings by name: where to begin, and settings that people know from elsewhere."""

from difflib import get_close_matches

from handformer.errors import InputError
from handformer.train.config import Settings

PRESETS: dict[str, Settings] = {
    # What `handformer train` does with nothing else: readable word-like text in about two minutes.
    "first": {
        "data": {"tokenizer": "bpe", "vocab_size": 512},  # whole words sooner than by characters
        "train": {
            "steps": 600, "lr": 3e-3, "warmup": 50, "eval_every": 200, "checkpoint_every": 200,
        },
    },
    # The character-level Shakespeare setting of small GPT repositories, for a CPU.
    "shakespeare-char": {
        "model": {
            "family": "gpt2", "context": 64, "n_layers": 4, "n_heads": 4, "d_model": 128,
            "dropout": 0.0,
        },
        "data": {"tokenizer": "characters"},
        "train": {
            "steps": 2000, "batch": 12, "lr": 1e-3, "min_lr": 1e-4, "warmup": 100, "beta_2": 0.99,
        },
    },
    "llama": {
        "model": {
            "family": "llama", "context": 64, "n_layers": 4, "n_heads": 4, "n_kv_heads": 2,
            "d_model": 128, "tied": True,
        },
    },
    "masked": {
        "model": {"family": "bert", "context": 64, "n_layers": 4, "n_heads": 4, "d_model": 128},
    },
    "pairs": {
        "model": {
            "family": "transformer", "context": 64, "n_layers": 2, "n_heads": 4, "d_model": 128,
            "shared": True,
        },
        "train": {"batch": 32, "smoothing": 0.1},
    },
}  # fmt: skip


def preset(name: str) -> Settings:
    """The settings of that name.

    Raises
    ------
    InputError
        where there is no such preset
    """
    if name not in PRESETS:
        near = get_close_matches(name, PRESETS, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}" if near else f"there are {', '.join(PRESETS)}"
        raise InputError(f"no preset {name!r}; {hint}")
    return PRESETS[name]
