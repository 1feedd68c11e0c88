"""The names of others find the same numbers."""

import numpy as np
import pytest

from handformer.aliases import find
from handformer.axes import record
from tests.tracing.small import model, traced


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("hook_embed", "embedding.out"),
        ("hook_pos_embed", "position_embedding.out"),
        ("blocks.0.hook_resid_pre", "x"),
        ("blocks.1.ln1.hook_normalized", "blocks.1.norm_1.x_hat"),
        ("blocks.1.attn.hook_attn_scores", "blocks.1.attention.scores"),
        ("blocks.1.attn.hook_pattern", "blocks.1.attention.attn"),
        ("blocks.1.attn.hook_z", "blocks.1.attention.context"),
        ("blocks.1.hook_resid_mid", "blocks.1.mid"),
        ("blocks.1.mlp.hook_pre", "blocks.1.mlp.pre"),
        ("blocks.1.hook_resid_post", "blocks.1.out"),
        ("ln_final.hook_normalized", "norm.x_hat"),
        ("unembed.hook_out", "head.out"),
        ("blocks.0.attn.W_Q", "blocks.0.attention.w_q"),
        ("blocks.0.mlp.W_in", "blocks.0.mlp.w_up"),
        ("blocks.0.attn.hook_v_grad", "blocks.0.attention.d_v"),
        ("unembed.W_U", "embedding.table"),
        ("unembed.W_U_grad", "head.d_table"),
        ("embed.W_E_grad", "embedding.d_table_lookup"),
        ("pattern1", "blocks.1.attention.attn"),
        ("mlp_post0", "blocks.0.mlp.post"),
        ("normalized1ln2", "blocks.1.norm_2.x_hat"),
        ("resid_post1", "blocks.1.out"),
    ],
)
def test_theirs_in_gpt_2(theirs: str, ours: str) -> None:
    assert traced("gpt2").entry(theirs).path == traced("gpt2").entry(ours).path


def test_a_gated_mlps_pre_is_its_gate() -> None:
    trace = traced("llama")
    assert trace.entry("blocks.0.mlp.hook_pre").path == "blocks.0.mlp.gate"
    assert trace.entry("blocks.0.mlp.hook_pre_linear").path == "blocks.0.mlp.up"
    assert trace.entry("blocks.0.attn.hook_rot_q").path == "blocks.0.attention.q_rot"


def test_where_the_norm_comes_after_the_sum_the_stream_is_the_norms_input() -> None:
    trace = traced("bert")
    assert trace.entry("blocks.0.hook_resid_mid").path == "blocks.0.norm_1.x"
    assert trace.entry("blocks.0.hook_resid_post").path == "blocks.0.norm_2.x"
    assert trace.entry("blocks.0.hook_normalized_resid_post").path == "blocks.0.norm_2.out"


def test_the_unembedding_is_the_array_that_makes_the_logits() -> None:
    assert traced("llama").entry("unembed.W_U").path == "head.w"
    bert = traced("bert")
    assert bert.entry("unembed.W_U").path == bert.entry("head.table").path == "embedding.table"
    assert bert.entry("unembed.b_U_grad").path == "head.d_bias"
    assert bert.entry("mlm_head.W").path == "head.w"
    assert bert.entry("embed.token_type_embed.W_token_type").path == "type_embedding.table"


def test_the_divisor_of_a_norm_is_not_ours() -> None:
    assert find("blocks.0.ln1.hook_scale", traced("gpt2")._entries) is None


def test_records_are_reached_by_path() -> None:
    made = model("gpt2")
    logits, cache = made.forward(np.array([[1, 2, 3]]))  # type: ignore[call-arg]
    back = made.backward(logits, cache)  # type: ignore[arg-type]
    assert cache["blocks.1.attention.attn"] is cache.blocks[1].attention.attn  # type: ignore[index, union-attr]
    assert cache["blocks.1.attn.hook_pattern"] is cache.blocks[1].attention.attn  # type: ignore[index, union-attr]
    assert back["blocks.0.attention.d_w_q"] is back.params.blocks[0].attention.w_q  # type: ignore[index, union-attr]
    assert back["blocks.0.attn.hook_q_grad"] is back.blocks[0].attention.d_q  # type: ignore[index, union-attr]
    assert "blocks.1.attention.attn" in cache  # type: ignore[operator]
    assert "blocks.9.attention.attn" not in cache  # type: ignore[operator]
    with pytest.raises(KeyError, match=r"DecoderCache holds no blocks\.0\.odd"):
        cache["blocks.0.odd"]  # type: ignore[index]


def test_only_values_are_reached() -> None:
    made = model("gpt2")
    for name in ("forward", "sheet", "blocks.0.scalars", "blocks.x", ""):
        assert name not in made  # type: ignore[operator]
    with pytest.raises(TypeError):
        iter(made)  # type: ignore[call-overload]


def test_a_part_that_is_none_is_not_there() -> None:
    @record
    class Pair:
        left: float | None

    assert "left" in Pair(0.0)  # type: ignore[operator]
    assert "left" not in Pair(None)  # type: ignore[operator]
