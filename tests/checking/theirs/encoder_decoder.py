"""transformer: the encoder and decoder of 2017."""

from typing import Any

import numpy as np

from tests.checking.theirs import blocks, embedding, head, loss, masks, positions
from tests.checking.theirs.program import At, Stop


def forward(at: At) -> None:
    source_valid, valid = at["source_valid"], at["valid"]
    layers = range(at.case.config["n_layers"])
    if at.case.config.get("shared"):
        table = at.program.given["target_embedding.table"]
        at.program.given["source_embedding.table"] = table
    memory = _embedded(at, "source", "source", "source_x", source_valid)
    mask = masks.padding(at, source_valid, source_valid.shape[1])
    for number in layers:
        memory = blocks.post_norm(at.under(f"encoder.{number}", number), memory, mask)
    x = _embedded(at, "target", "tokens", "x", valid)
    mask = masks.causal(at, valid)
    for number in layers:
        block = at.under(f"decoder.{number}", number)
        x = blocks.cross(block, x, mask, memory, masks.of_source(block, source_valid, valid))
    logits = head.forward(at.under("head"), x)
    loss.forward(at.under("loss"), logits)


def _embedded(at: At, side: str, ids: str, name: str, valid: Any) -> Any:
    embedded = embedding.tokens(at.under(f"{side}_embedding"), at[ids])
    waves = at.under(f"{side}_positions")
    path = "positions" if side == "target" else "source_positions.positions"
    positions.waves(waves, positions.counted(at, valid, path))
    x = positions.added(at, name, embedded, waves)
    if x is None:
        raise Stop
    return blocks.dropout.forward(at.under(f"{side}_dropout"), x)


def backward(at: At) -> None:
    layers = at.case.config["n_layers"]
    d, d_table = head.backward(at.under("head"), loss.backward(at.under("loss")))
    d_memory: Any = None
    for number in reversed(range(layers)):
        block = at.under(f"decoder.{number}", number)
        if d_memory is None:
            d_memory = block.put("d_memory_later", np.zeros_like(block["cross.memory"]))
        d, d_memory = blocks.cross_back(block, d, d_memory)
    d_x = blocks.dropout.back(at.under("target_dropout"), d)
    d = d_memory
    for number in reversed(range(layers)):
        d = blocks.post_norm_back(at.under(f"encoder.{number}", number), d)
    d = blocks.dropout.back(at.under("source_dropout"), d)
    shared = bool(at.case.config.get("shared"))
    of_source = embedding.tokens_back(
        at.under("source_embedding"), at["source"], d, d_table if shared else None
    )
    elsewhere = of_source if shared else d_table
    embedding.tokens_back(at.under("target_embedding"), at["tokens"], d_x, elsewhere)
