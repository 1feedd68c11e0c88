"""gpt2 and llama: a decoder with norms before its layers."""

from typing import Any

from tests.checking.theirs import blocks, embedding, head, loss, masks, norms, positions
from tests.checking.theirs.program import At, Stop


def forward(at: At) -> None:
    tokens, valid = at["tokens"], at["valid"]
    places = positions.counted(at, valid)
    mask = masks.causal(at, valid)
    embedded = embedding.tokens(at.under("embedding"), tokens)
    if at.case.family == "gpt2":
        table = at.under("position_embedding")
        positions.learned(table, places)
        x = positions.added(at, "x", embedded, table)
        if x is None:
            raise Stop
    else:
        x = embedded
    x = blocks.dropout.forward(at.under("dropout"), x)
    for number in range(at.case.config["n_layers"]):
        x = blocks.pre_norm(at.under(f"blocks.{number}", number), x, mask)
    if not at.wrong("FIN-1"):
        x = norms.forward(at.under("norm"), x)
    logits = head.forward(at.under("head"), x)
    loss.forward(at.under("loss"), logits)


def backward(at: At) -> None:
    d_logits = loss.backward(at.under("loss"))
    d, d_table = head.backward(at.under("head"), d_logits)
    if not at.wrong("FIN-1"):
        d = norms.backward(at.under("norm"), d)
    for number in reversed(range(at.case.config["n_layers"])):
        d = blocks.pre_norm_back(at.under(f"blocks.{number}", number), d)
    d = blocks.dropout.back(at.under("dropout"), d)
    _tables_back(at, d, d_table)


def _tables_back(at: At, d: Any, d_table: Any) -> None:
    if at.case.family == "gpt2":
        embedding.positions_back(at.under("position_embedding"), at["positions"], d)
    embedding.tokens_back(at.under("embedding"), at["tokens"], d, d_table)
