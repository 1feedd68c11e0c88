"""The rows of all blocks as one, where they are alike."""

from typing import Any

from handformer.models import ModelConfig
from handformer.tracing.fold import fold, parts
from handformer.tracing.ledger import Ledger, Row, ledger

SIZES: dict[str, Any] = {
    "n_layers": 3, "n_heads": 2, "d_model": 8, "d_ff": 9, "vocab_size": 11, "context": 7,
}  # fmt: skip


def small(**settings: Any) -> Ledger:
    return ledger(ModelConfig(**SIZES, **settings), batch=3)


def row(kept: Ledger, path: str) -> Row:
    (found,) = (row for row in kept.rows if row.path == path)
    return found


def test_blocks_are_folded_where_they_are_alike() -> None:
    kept = small()
    folded = {row.path: row for row in fold(kept.of("value"))}
    scores = folded["blocks.0..2.attention.scores"]
    assert scores.bytes == 3 * row(kept, "blocks.0.attention.scores").bytes
    assert scores.flops == 3 * (row(kept, "blocks.0.attention.scores").flops or 0)
    assert folded["blocks.0..2.attention.attn"].needed_by == ("d_scores", "d_v")
    assert sum(row.bytes for row in folded.values()) == kept.bytes("value")


def test_blocks_that_differ_stay_apart() -> None:
    kept = small(family="bert")
    folded = {row.path: row.needed_by for row in fold(kept.of("value"))}
    assert folded["blocks.0..1.norm_2.out"] == ("d_w_q", "d_w_k", "d_w_v")
    assert folded["blocks.2.norm_2.out"] == ("d_w",)


def test_parts_hold_every_row_once() -> None:
    kept = small()
    folded = parts(kept.rows)
    assert [part.path for part in folded][:2] == ["embedding", "position_embedding"]
    assert "blocks.0..2.attention" in {part.path for part in folded}
    assert "blocks.0..2" in {part.path for part in folded}
    assert sum(part.bytes for part in folded) == kept.total - kept.moment_bytes


def test_what_costs_nothing_known_is_cheapest_last() -> None:
    kept = small(dropout=0.1)
    prices = {row.path: row.price for row in fold(kept.of("value"))}
    assert prices["blocks.0..2.attention.keep"] == float("inf")
    assert prices["blocks.0..2.mid"] == 0.25
