"""What is right raises no alarm: four families, three precisions, other names, gaps."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from handformer.checking import unreferenced
from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.names import Likely, find, heads_come_last
from handformer.checking.unreferenced.show import answer
from tests.checking.unreferenced.dumps import Arrays, dump

PRECISIONS = [("float64", ""), ("float32", ""), ("float32", "float16")]
LABELS = [
    "gpt2 tied, without padding", "gpt2 untied, dropout", "llama tied, dropout",
    "llama untied, flash", "bert tied", "transformer untied",
]  # fmt: skip
CONTEXT = "context[b,h,t,c] = sum(s, attn_kept[b,h,t,s] * v[b,h // group,s,c])"


def wrong(asked: tuple[Asked, ...]) -> list[Asked]:
    return [one for one in asked if not one.fine]


@pytest.mark.parametrize(("dtype", "stored"), PRECISIONS)
@pytest.mark.parametrize("label", LABELS)
def test_a_right_dump_raises_no_alarm(label: str, dtype: str, stored: str) -> None:
    asked = unreferenced.check(dump(label, dtype, stored))
    assert not wrong(asked)
    assert len(asked) > 300


@pytest.mark.parametrize("label", ["gpt2 tied, without padding", "llama untied", "bert tied"])
def test_a_dump_with_gaps_raises_no_alarm(label: str) -> None:
    rng = np.random.default_rng(7)
    whole = dump(label)
    for share in (0.2, 0.5, 0.8):
        for _ in range(4):
            some = {path: array for path, array in whole.items() if rng.random() < share}
            assert not wrong(unreferenced.check(some))


def test_all_is_asked_of_what_is_there() -> None:
    asked = unreferenced.check(dump("llama tied, dropout"))
    found = {(one.path, one.question) for one in asked}
    for path, question in [
        ("blocks.1.attention.attn", "rows sum to 1"),
        ("blocks.1.attention.attn", "the keys that a query sees make sense"),
        ("blocks.1.attention.attn", "softmax of scores over the keys that are seen"),
        ("blocks.1.attention.scores", "scores are q k / sqrt(d_k)"),
        ("blocks.0.attention.q_rot", "each row is as long as that of q"),
        ("blocks.0.attention.d_k_rot", "each row is as long as that of d_k"),
        ("blocks.0.attention.d_scores", "rows sum to 0"),
        ("blocks.0.attention.d_scores", "0 where nothing is seen"),
        ("blocks.0.norm_1.x_hat", "rows have mean square mean square / (mean square + eps)"),
        ("blocks.0.norm_2.d_x", "rows are orthogonal to x_hat, as far as eps lets them be"),
        ("blocks.1.mid", "mid[b,t,i] = x[b,t,i] + dropout_1.out[b,t,i]"),
        ("blocks.1.out", "out[b,t,i] = mid[b,t,i] + dropout_2.out[b,t,i]"),
        ("blocks.0.attention.context", CONTEXT),
        ("loss.probs", "softmax of logits"),
        ("loss.d_logits", "rows sum to 0"),
    ]:
        assert (path, question) in found, (path, question)
    seen = [one.said for one in asked if "make sense" in one.question]
    assert len(seen) == 2
    assert all(one.startswith("causal") for one in seen)


def lens(values: Arrays) -> Arrays:
    """The same values by the names of TransformerLens, in its order of axes."""
    names = {
        "attention.q": "attn.hook_q", "attention.k": "attn.hook_k", "attention.v": "attn.hook_v",
        "attention.attn": "attn.hook_pattern", "attention.context": "attn.hook_z",
        "attention.out": "hook_attn_out", "mid": "hook_resid_mid", "out": "hook_resid_post",
        "mlp.out": "hook_mlp_out", "mlp.post": "mlp.hook_post",
        "norm_1.x_hat": "ln1.hook_normalized", "norm_2.x_hat": "ln2.hook_normalized",
        "attention.d_scores": "attn.hook_attn_scores_grad",
    }  # fmt: skip
    found = {}
    for path, array in values.items():
        block, _, inside = path.removeprefix("blocks.").partition(".")
        if path.startswith("blocks.") and inside in names:
            name = f"blocks.{block}.{names[inside]}"
            found[name] = array.swapaxes(-3, -2) if heads_come_last(name) else array
    return found


def test_other_names_are_known_without_a_case() -> None:
    values = dump("gpt2 tied, without padding")
    asked = unreferenced.check(lens(values))
    assert not wrong(asked)
    found = {(one.path, one.called, one.question) for one in asked}
    attn = ("blocks.0.attention.attn", "blocks.0.attn.hook_pattern")
    assert (*attn, "rows sum to 1") in found
    context = ("blocks.1.attention.context", "blocks.1.attn.hook_z")
    assert (*context, CONTEXT) in found
    assert ("blocks.1.out", "blocks.1.hook_resid_post") in {(p, c) for p, c, _ in found}
    assert any(q == "out[b,t,i] = mid[b,t,i] + dropout_2.out[b,t,i]" for _, _, q in found)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("blocks.0.attention.attn", "blocks.0.attention.attn"),
        ("layer0/attn_weights", "layer0.attn"),
        ("layer0.attention_probs", "layer0.attn"),
        ("attn", "attn"),
        ("attn_2", "2.attn"),
        ("blocks.1.attn.hook_pattern", "blocks.1.attention.attn"),
        ("blocks.1.attn.hook_pattern_grad", "blocks.1.attention.d_attn"),
        ("pattern3", "blocks.3.attention.attn"),
        ("scores.grad", "d_scores"),
        ("h.0.scores_grad", "h.0.d_scores"),
        ("h.0.dscores", "h.0.d_scores"),
        ("grad_logits", "d_logits"),
        ("d_attn_kept", "d_attn_kept"),
        ("something.else", "something.else"),
    ],
)
def test_a_name_by_its_last_part_or_by_what_others_call_it(name: str, path: str) -> None:
    assert find(name, Likely([name])) == path


def test_a_file_is_read_and_an_empty_answer_says_so(tmp_path: Path) -> None:
    values = {n: np.ascontiguousarray(a) for n, a in dump("gpt2 untied, dropout").items()}
    file = tmp_path / "theirs.safetensors"
    save_file(values, file)
    assert len(unreferenced.check(file)) == len(unreferenced.check(values))
    assert not wrong(unreferenced.check(str(file)))
    assert answer(()) == "Nothing could be asked: no name of a value is known here."


def test_a_scale_that_is_stored_less_one_is_a_convention() -> None:
    values = dump("llama untied")
    paths = [path for path in values if path.endswith("norm_1.gamma")]
    stored = {path: values[path] - np.float32(1) for path in paths}
    assert len(stored) == 2
    assert not wrong(unreferenced.check({**values, **stored}))
