"""Names: gradients, near misses, and how a name is taken apart to be shown."""

import pytest

from handformer.formula.names import Shown, gradient, is_gradient, is_width, shown, unknown


def test_a_gradient_is_named_at_the_end_of_the_path() -> None:
    assert gradient("scores") == "d_scores"
    assert gradient("blocks.3.attention.scores") == "blocks.3.attention.d_scores"
    assert is_gradient("blocks.3.attention.d_scores")
    assert not is_gradient("d_model.scores")


def test_only_the_widths_begin_like_gradients() -> None:
    assert [name for name in ("d_model", "d_k", "d_ff", "n_heads", "d_loss") if is_width(name)] == [
        "d_model",
        "d_k",
        "d_ff",
    ]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (["attn", "scores", "x"], "unknown name scoers; did you mean scores?"),
        (["score", "scores"], "unknown name scoers; did you mean scores or score?"),
        (["x", "attn"], "unknown name scoers; there are attn, x"),
        ([], "unknown name scoers; there are none"),
        ([f"x{i}" for i in range(10, 30)], "there are x10, x11, x12"),
    ],
)
def test_near_names_are_offered(known: list[str], message: str) -> None:
    assert message in unknown("name", "scoers", known)
    assert len(unknown("name", "scoers", known)) < 120


@pytest.mark.parametrize(
    ("name", "bare", "parts"),
    [
        ("x", False, Shown("", False, "x", False, "")),
        ("scores", False, Shown("", False, "scores", False, "")),
        ("d_scores", False, Shown("", True, "scores", False, "")),
        ("d_k", True, Shown("", False, "d", False, "k")),
        ("d_k", False, Shown("", True, "k", False, "")),
        ("d_loss", True, Shown("", True, "loss", False, "")),
        ("w_q", False, Shown("", False, "w", False, "q")),
        ("d_w_up", False, Shown("", True, "w", False, "up")),
        ("n_kv_heads", True, Shown("", False, "n", False, "kv_heads")),
        ("x_hat", False, Shown("", False, "x", True, "")),
        ("d_x_hat", False, Shown("", True, "x", True, "")),
        ("beta_1", True, Shown("", False, "beta", False, "1")),
        ("norm_1.d_gamma", False, Shown("norm_1.", True, "gamma", False, "")),
        ("norm_1", False, Shown("", False, "norm", False, "1")),
        ("vocab_size", True, Shown("", False, "vocab_size", False, "")),
        ("d_attn_kept", False, Shown("", True, "attn_kept", False, "")),
    ],
)
def test_a_name_is_taken_apart(name: str, bare: bool, parts: Shown) -> None:
    assert shown(name, bare=bare) == parts


def test_a_word_is_neither_a_letter_nor_greek() -> None:
    names = ("x", "gamma", "scores", "w_q")
    assert [shown(name, bare=False).is_word for name in names] == [False, False, True, False]
