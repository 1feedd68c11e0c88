"""Small runs of every kind, for the tests of training: each takes a fraction of a second."""

from pathlib import Path
from typing import Any

import numpy as np

from handformer import tree
from handformer.train import log, run
from handformer.train.checkpoint import Checkpoint
from handformer.train.config import Settings
from handformer.train.run import Run
from handformer.train.run_folder import RunFolder

KINDS = ("gpt2", "llama", "bert", "transformer")
TIMING = "tokens_per_second"


def text(length: int = 1200) -> str:
    """Words in an order that has something to learn, and no end of it."""
    rng = np.random.default_rng(3)
    words = ["The", "cat", "sees", "a", "dog.\n", "then", "naps"]
    return " ".join(rng.choice(words) for _ in range(length // 4))[:length]


def pairs(count: int = 60) -> str:
    """Short strings and themselves backwards."""
    rng = np.random.default_rng(4)
    rows = ("".join(rng.choice(list("abcd"), size=rng.integers(2, 7))) for _ in range(count))
    return "".join(f"{row}\t{row[::-1]}\n" for row in rows)


def data(folder: Path, kind: str) -> Path:
    """A file that a model of this kind can learn from."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ("pairs.tsv" if kind == "transformer" else "text.txt")
    path.write_text(pairs() if kind == "transformer" else text(), encoding="utf-8")
    return path


def settings(
    kind: str, path: Path | str, *, model: Settings | None = None, **train: Any
) -> Settings:
    """Settings of a run that takes no time, with all in it that a resumed run must repeat."""
    sizes: Settings = {
        "family": kind, "context": 8, "n_layers": 1, "n_heads": 2, "d_model": 16, "dropout": 0.1,
    }  # fmt: skip
    own: dict[str, Settings] = {"llama": {"n_kv_heads": 1}, "transformer": {"shared": True}}
    usual = {
        "steps": 9, "batch": 3, "accumulate": 2, "lr": 1e-2, "warmup": 2, "log_every": 2,
        "eval_every": 3, "eval_sequences": 5, "checkpoint_every": 4,
    }  # fmt: skip
    return {
        "model": sizes | own.get(kind, {}) | (model or {}),
        "data": {"path": str(path)},
        "train": usual | train,
    }


def begin(folder: Path, kind: str = "gpt2", **train: Any) -> Run:
    """A small run that has begun in `folder`, on a text beside it."""
    return run.begin(settings(kind, data(folder.parent, kind), **train), folder)


def entries(folder: RunFolder) -> list[log.Entry]:
    """The log, less what depends on the machine's mood."""
    return [
        {key: value for key, value in entry.items() if key != TIMING}
        for entry in log.read(folder.log)
    ]


def assert_same(one: Checkpoint | None, other: Checkpoint | None) -> None:
    """Two checkpoints are equal, bit for bit."""
    assert one is not None
    assert other is not None
    assert one.step == other.step
    assert bits(one.params) == bits(other.params)
    assert bits(one.state.arrays()) == bits(other.state.arrays())


def bits(arrays: Any) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Arrays by path, in a form of which equality means equality of every bit."""
    flat = arrays if isinstance(arrays, dict) else tree.flatten(arrays)
    return {path: (str(a.dtype), a.shape, a.tobytes()) for path, a in flat.items()}
