"""The peers do the same work as we do: PyTorch's step has our loss, with our weights."""

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handformer.bench
from handformer import ops, tree
from handformer.bench.contestant import Contestant, Running
from handformer.bench.contests import settings_of
from handformer.models import Decoder
from tests.bench.small import LEARNER, WRITER

PEERS = Path(handformer.bench.__file__).parent / "peers"


def served(file: str, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts of a peer, and what it tells of its second piece of work."""
    shape = WRITER if file.startswith("transformers") else LEARNER
    with Running(Contestant(file, f"peers/{file}", settings_of(shape) | settings), 1) as running:
        facts = running.ready()
        running.work(0)
        return facts, running.work(0).told


def test_the_step_of_pytorch_has_our_loss() -> None:
    torch = pytest.importorskip("torch")
    config = LEARNER.config
    rng = np.random.default_rng(1)
    tokens, targets = rng.integers(config.vocab_size, size=(2, 2, 3))
    ours = tree.transform(  # no weight is neutral or small
        Decoder.init(config), lambda _, array: rng.normal(size=array.shape).astype(np.float32)
    )
    theirs = runpy.run_path(str(PEERS / "torch_step.py"))["Model"](settings_of(LEARNER)["config"])
    w = {
        path: torch.from_numpy(
            (array.T if ".attention." in path or ".mlp." in path else array).copy()
        )
        for path, array in tree.flatten(ours).items()
    }
    named = {"table.weight": w["embedding.table"], "places.weight": w["position_embedding.table"]}
    named |= {"norm.weight": w["norm.gamma"], "norm.bias": w["norm.beta"]}
    for block in ("blocks.0", "blocks.1"):
        for letter, part, of_norm in (("w", "weight", "gamma"), ("b", "bias", "beta")):
            three = [w[f"{block}.attention.{letter}_{which}"] for which in "qkv"]
            named[f"{block}.qkv.{part}"] = torch.cat(three)
            named[f"{block}.out.{part}"] = w[f"{block}.attention.{letter}_o"]
            for way in ("up", "down"):
                named[f"{block}.{way}.{part}"] = w[f"{block}.mlp.{letter}_{way}"]
            for norm in ("norm_1", "norm_2"):
                named[f"{block}.{norm}.{part}"] = w[f"{block}.{norm}.{of_norm}"]
    theirs.load_state_dict(named)
    loss = theirs(torch.from_numpy(tokens), torch.from_numpy(targets)).item()
    logits, _ = ours.forward(tokens)
    _, losses, *_ = ops.cross_entropy.forward(logits, targets, 0.0)
    assert loss == pytest.approx(losses.mean(), rel=1e-6)


@pytest.mark.slow
def test_pytorch_steps() -> None:
    pytest.importorskip("torch")
    facts, told = served("torch_step.py")
    assert facts["version"]
    assert told["loss"] == pytest.approx(math.log(5), abs=0.2)


@pytest.mark.slow
def test_transformer_lens_traces() -> None:
    pytest.importorskip("transformer_lens")
    _, told = served("lens_trace.py")
    assert told["loss"] == pytest.approx(math.log(5), abs=0.8)
    assert told["values"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_transformers_write(dtype: str) -> None:
    pytest.importorskip("transformers")
    facts, told = served("transformers_write.py", tokens=5, prompt=2, dtype=dtype)
    assert facts["version"]
    assert told == {}
