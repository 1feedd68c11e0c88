"""Every kind of model learns a small task almost entirely, in a few hundred quick updates."""

import math
import random
from pathlib import Path
from typing import Any

import pytest

from handformer.generate.load import load
from handformer.train import run
from tests.train import small

pytestmark = pytest.mark.usefixtures("quick")


def losses(folder: Path, kind: str, text: str, model: dict[str, Any], **train: Any) -> list[float]:
    """The validation losses of a run, from the first evaluation to the last."""
    path = folder / "text"
    path.write_text(text)
    settings = {
        "model": {"family": kind, "n_layers": 1, "n_heads": 2, **model},
        "data": {"path": str(path)},
        "train": {"batch": 16, "warmup": 20, "weight_decay": 0.0, **train},
    }
    ended, _ = run.begin(settings, folder / "run").go()
    return [e["validation_loss"] for e in small.entries(ended.folder) if "validation_loss" in e]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_decoder_learns_the_alphabet(kind: str, tmp_path: Path) -> None:
    sizes = {"d_model": 16, "context": 16}
    found = losses(tmp_path, kind, "abcdefghij" * 60, sizes, lr=1e-2, steps=60, eval_every=10)
    assert 1 < found[0] < math.log(10)
    assert found[-1] < 0.2
    assert load(tmp_path / "run").generate("ab", max_tokens=14, temperature=0) == "cdefghijabcdef"


@pytest.mark.slow
def test_an_encoder_learns_to_fill_gaps(tmp_path: Path) -> None:
    sizes = {"d_model": 32, "context": 8}
    early, late = losses(tmp_path, "bert", "abc" * 200, sizes, lr=3e-3, steps=300, eval_every=30)[
        ::9
    ]
    assert early > 0.8  # little less than guessing: log 3 = 1.1
    assert late < 0.02
    writer = load(tmp_path / "run")
    assert writer.fill("abca[MASK]cab") == "abcabcab"
    assert writer.fill("[MASK]cabcab[MASK]") == "bcabcabc"


@pytest.mark.slow
def test_an_encoder_decoder_learns_to_write_backwards(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = sorted({"".join(rng.choices("abc", k=rng.randint(2, 5))) for _ in range(900)})
    pairs = "".join(f"{row}\t{row[::-1]}\n" for row in rows)
    sizes = {"d_model": 32, "context": 8, "shared": True}
    found = losses(tmp_path, "transformer", pairs, sizes, lr=5e-3, steps=300, eval_every=50)
    assert found[0] > 0.4
    assert found[-1] < 0.1
    writer = load(tmp_path / "run")
    for row in ("abc", "aab", "ccab", "bacca"):
        assert writer.translate(row) == row[::-1]
