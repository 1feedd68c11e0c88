"""Runs with attention = flash: they learn what the full form learns, are resumed, and generate."""

import json
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_allclose

from handformer.generate.load import load
from handformer.layers import FlashAttention, MultiHeadAttention
from handformer.train import run
from handformer.train.run import Run
from tests.train import small

pytestmark = pytest.mark.usefixtures("quick")

FLASH: dict[str, Any] = {"attention": "flash", "dropout": 0.0}


def begin(folder: Path, kind: str, steps: int = 9, **model: Any) -> Run:
    path = small.data(folder.parent, kind)
    wanted = small.settings(kind, path, model={**FLASH, **model}, steps=steps, schedule="constant")
    return run.begin(wanted, folder)


def losses(begun: Run) -> list[float]:
    return [entry["loss"] for entry in small.entries(begun.folder) if "loss" in entry]


@pytest.mark.parametrize("kind", ["gpt2", "llama", "bert"])
def test_a_run_learns_the_same_by_either_form(kind: str, tmp_path: Path) -> None:
    flash, full = begin(tmp_path / "flash", kind), begin(tmp_path / "full", kind, attention="full")
    for begun in (flash, full):
        begun.go()
    assert len(losses(flash)) > 2
    assert_allclose(losses(flash), losses(full), rtol=1e-5)


def test_a_resumed_run_is_the_unbroken_one(tmp_path: Path) -> None:
    whole, begun = begin(tmp_path / "whole", "llama"), begin(tmp_path / "run", "llama", steps=4)
    for one in (whole, begun):
        one.go()
    ended, _ = run.resume(tmp_path / "run", {"train": {"steps": 9}}).go()
    small.assert_same(whole.folder.newest(), ended.folder.newest())
    assert ended.config.model.attention == "flash"
    assert attentions(ended.trained.model) == {FlashAttention}


def test_what_was_trained_is_loaded_and_generates_by_either_form(tmp_path: Path) -> None:
    begin(tmp_path / "run", "gpt2").go()
    config = tmp_path / "run" / "model" / "config.json"
    texts = []
    for name, layer in (("flash", FlashAttention), ("full", MultiHeadAttention)):
        settings = json.loads(config.read_text())
        settings["handformer"]["attention"] = name
        config.write_text(json.dumps(settings))
        loaded = load(tmp_path / "run")
        assert attentions(loaded.model) == {layer}
        texts.append(loaded.generate("The cat", max_tokens=9, temperature=0))
    assert texts[0] == texts[1]


def attentions(model: Any) -> set[type]:
    return {type(block.attention) for block in model.blocks}
