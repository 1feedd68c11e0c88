"""Small cases on which a mistake can't hide: sizes all differ, and no weight is neutral.

The one file here that uses the package: it makes the traces.
"""

from functools import cache, partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from handformer import tree
from handformer.models import CLASSES, Model, ModelConfig
from handformer.ops import cross_entropy
from handformer.ops.drops import RandomDropout
from handformer.tracing import passing
from handformer.tracing import run as running
from handformer.tracing.prompt import Prompt
from handformer.tracing.trace import Trace
from tests.checking.theirs.case import Case, read

FAMILIES = ("gpt2", "llama", "bert", "transformer")
SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {"d_model": 24, "n_heads": 4, "d_ff": 28, "vocab_size": 23, "context": 9},
    "llama": {
        "d_model": 24, "n_heads": 4, "n_kv_heads": 2, "d_ff": 40, "vocab_size": 29, "context": 9,
        "rope_base": 5e5,
    },
    "bert": {"d_model": 24, "n_heads": 4, "d_ff": 28, "vocab_size": 23, "context": 9},
    "transformer": {
        "d_model": 24, "n_heads": 4, "d_ff": 28, "vocab_size": 23, "source_vocab_size": 19,
        "context": 9,
    },
}  # fmt: skip
TOKENS = [[1, 3, 7, 1, 12], [3, 3, 9, 0, 0]]
TARGETS = [[3, 7, -100, 12, 8], [3, 9, 4, -100, -100]]
VALID = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
SOURCE = [[2, 5, 5, 11, 3, 8, 1], [4, 2, 6, 2, 0, 0, 0]]
SOURCE_VALID = [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]
TYPES = [[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]]
SMOOTHING = 0.1
RATE = 0.1
LENGTHS = {"long": 70, "very long": 264}


@cache
def trace(family: str, special: str = "") -> Trace:
    """A case with its answers, in float64."""
    model = _model(family, special)
    inputs, targets = _inputs(family, special)
    with mock.patch.object(running, "both_ways", _passing(special)):
        made = running.run(model, Prompt(inputs, targets), name=family, dtype=np.float64)
    if special != "smoothing":
        return made
    scopes = tuple(
        one.model_copy(update={"scalars": one.scalars | {"smoothing": SMOOTHING}})
        if one.path == "loss"
        else one
        for one in made.manifest.scopes
    )
    manifest = made.manifest.model_copy(update={"scopes": scopes})
    return Trace(manifest, {v.path: made[v.path] for v in manifest.values})


@cache
def case(family: str, special: str = "") -> Case:
    """The same without answers."""
    return read(trace(family, special))


def _passing(special: str) -> Any:
    if special == "dropout":
        drop = RandomDropout(seed=4, step=0)
        return partial(passing.both_ways, drop=drop)
    if special == "smoothing":
        return _smoothed
    return passing.both_ways


def _smoothed(*given: Any, ops: Any) -> Any:
    loss = SimpleNamespace(
        forward=lambda logits, targets, _: cross_entropy.forward(logits, targets, SMOOTHING),
        backward=lambda *parts: cross_entropy.backward(*parts[:-1], SMOOTHING),
    )
    changed = SimpleNamespace(**{**vars(ops), "cross_entropy": loss})
    return passing.both_ways(*given, ops=changed)


def _model(family: str, special: str) -> Model:
    sizes = {"family": family, "n_layers": 2, **SIZES[family]}
    if special == "square vocabulary":
        sizes["vocab_size"] = sizes["d_model"]
    elif special == "equal sizes":
        sizes |= {"d_model": 9, "n_heads": 3}
    elif special == "dropout":
        sizes["dropout"] = RATE
    elif special in LENGTHS:
        sizes["context"] = LENGTHS[special] + 2
    elif special == "shared":
        sizes |= {"source_vocab_size": None, "shared": True}
    elif special in ("tied", "untied"):
        sizes["tied"] = special == "tied"
    model = CLASSES[family].init(ModelConfig.read(sizes), seed=3)
    random = np.random.default_rng(7)
    return tree.transform(model, partial(_weight, random, special))  # type: ignore[no-any-return]


def _weight(random: np.random.Generator, special: str, path: str, array: Any) -> Any:
    name = path.rpartition(".")[2]
    drawn = random.normal(size=array.shape)
    if name == "gamma":
        made = 1 + 0.3 * drawn
        return made * (100 if special == "large logits" and path == "norm.gamma" else 1)
    if name == "table":
        if special == "low variance":
            rows = slice(3, 4) if path == "embedding.table" else slice(None)
            drawn[rows] *= 1e-3
        return drawn / (4 if "_embedding" in path and "position" not in path else 1)
    if array.ndim == 1:
        return 0.3 * drawn
    times = {"large scores": -80, "huge scores": 1e5} if name == "w_q" else {}
    return 1.2 * drawn / np.sqrt(len(array)) * times.get(special, 1)


def _inputs(family: str, special: str) -> tuple[dict[str, Any], Any]:
    tokens, targets, valid = np.array(TOKENS), np.array(TARGETS), np.array(VALID, bool)
    if special == "left padding":
        tokens, targets, valid = (
            np.stack([part[0], np.roll(part[1], 2)]) for part in (tokens, targets, valid)
        )
    elif special == "no padding":
        valid = np.ones_like(valid)
    elif special == "equal sizes":
        tokens, targets, valid = tokens[:, :3], targets[:, :3], valid[:, :3]
    elif special in LENGTHS:
        random = np.random.default_rng(2)
        tokens = random.integers(0, SIZES[family]["vocab_size"], (2, LENGTHS[special]))
        targets, valid = np.roll(tokens, -1, axis=1), np.ones_like(tokens, bool)
    inputs: dict[str, Any] = {"tokens": tokens, "valid": valid}
    if family == "bert":
        inputs["types"] = np.array(TYPES)
    if family == "transformer":
        size = tokens.shape[1] if special == "same lengths" else len(SOURCE[0])
        source, real = np.array(SOURCE)[:, :size], np.array(SOURCE_VALID, bool)[:, :size]
        inputs = {"source": source, "source_valid": real, **inputs}
    return inputs, targets
