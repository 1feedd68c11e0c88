"""Every question is answered with no by the mistakes that it is there for, and hints at them."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from handformer.checking import unreferenced
from tests.checking.unreferenced.dumps import Arrays, changed, dump

GPT2, LLAMA, BERT = "gpt2 tied, without padding", "llama tied, dropout", "bert tied"
HEAD = "blocks.0.attention."


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def causal(attn: Any) -> Any:
    return np.tri(attn.shape[-1], dtype=bool)


def uneven(array: Any) -> Any:
    """Positive numbers of the same shape."""
    return np.random.default_rng(3).random(array.shape) + 0.2


def normalised(weights: Any) -> Any:
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1)


def column_softmax(attn: Any) -> Any:
    weights = uneven(attn) * causal(attn)
    return weights / weights.sum(axis=-2, keepdims=True)


def gone(array: Any) -> Any:
    odd = array.copy()
    odd.flat[1] = np.nan
    return odd


def faint(attn: Any) -> Any:
    return normalised(np.where(causal(attn), uneven(attn), 1e-6))


def one_ahead(attn: Any) -> Any:
    return normalised(uneven(attn) * np.tri(attn.shape[-1], k=1))


def strict(attn: Any) -> Any:
    return normalised(uneven(attn) * np.tri(attn.shape[-1], k=-1))


def upside_down(attn: Any) -> Any:
    return normalised(uneven(attn) * np.tri(attn.shape[-1]).T)


def half(attn: Any) -> Any:
    other = attn.copy()
    other[1] = normalised(uneven(attn[1]))
    return other


ALIKE = "the keys that a query sees make sense"
CHANGES: list[tuple[str, str, Callable[[Any], Any], str, str]] = [
    (GPT2, "attn", column_softmax, "rows sum to 1", "SM-1"),
    (GPT2, "attn", lambda a: a / a.sum(), "rows sum to 1", "SM-2"),
    (GPT2, "attn", lambda a: softmax(uneven(a)) * causal(a), "rows sum to 1", "MASK-5"),
    (GPT2, "attn", lambda a: 1.3 * a, "rows sum to 1", "DROP-1"),
    (GPT2, "attn", gone, "every number is finite", "MASK-9"),
    (GPT2, "attn", lambda a: -a, "nothing is below 0", "DUMP-4"),
    (GPT2, "attn", faint, ALIKE, "MASK-11"),
    (GPT2, "attn", one_ahead, ALIKE, "MASK-2"),
    (GPT2, "attn", strict, ALIKE, "MASK-2"),
    (GPT2, "attn", upside_down, ALIKE, "MASK-3"),
    (GPT2, "attn", half, ALIKE, "MASK-15"),
    (GPT2, "attn", lambda a: softmax(uneven(a)), "all blocks see alike", "MASK-1"),
    (GPT2, "attn", lambda a: softmax(uneven(a)), "0 where the mask hides", "MASK-1"),
    (GPT2, "attn", lambda a: normalised(a**2), "softmax of scores over the keys that are seen", ""),
    (GPT2, "scores", lambda s: s * np.sqrt(4 / 10), "scores are q k / sqrt(d_k)", "SCALE-1"),
    (GPT2, "scores", lambda s: s + s.max() * uneven(s), "scores are q k / sqrt(d_k)", ""),
    (GPT2, "d_scores", lambda d: d + 0.01 * abs(d).max(), "rows sum to 0", ""),
    (GPT2, "d_scores", lambda d: d + 1e-9, "0 where nothing is seen", "BA-8"),
    (GPT2, "d_scores", lambda d: d[..., :3], "a gradient has the shape of its value", "BA-9"),
    (GPT2, "d_q", np.zeros_like, "not all of it is 0", "BW-6"),
    (GPT2, "q", lambda q: q + uneven(q), "q[b,h,t,c] =", ""),
    (GPT2, "out", lambda y: y + uneven(y), "out[b,t,i] =", ""),
    (LLAMA, "q_rot", lambda q: q * 1.01, "each row is as long as that of q", "ROPE-2"),
    (LLAMA, "k_rot", lambda k: k + 0.1, "each row is as long as that of k", "ROPE-2"),
    (LLAMA, "d_q_rot", lambda q: 2 * q, "each row is as long as that of d_q", "ROPE-2"),
]  # fmt: skip


def found(values: Arrays, path: str, question: str) -> Any:
    """The answer to a question, which is no."""
    wrong = [
        o for o in unreferenced.check(values) if not o.fine and o.question.startswith(question)
    ]
    at = [one for one in wrong if one.path == path] or [one for one in wrong if "alike" in question]
    assert len(at) == 1, wrong
    assert at[0].means
    return at[0]


@pytest.mark.parametrize(("label", "name", "change", "question", "hint"), CHANGES)
def test_attention(label: str, name: str, change: Any, question: str, hint: str) -> None:
    one = found(changed(dump(label), HEAD + name, change), HEAD + name, question)
    assert hint in ("", *one.hints)


def test_heads_that_differ_and_padding_are_seen_as_they_are() -> None:
    asked = unreferenced.check(dump(BERT))
    seen = {one.said for one in asked if one.question == ALIKE}
    assert {one.partition(",")[0] for one in seen} == {"full"}
    assert all("padding column" in one for one in seen)
    rows = [o for o in asked if o.question == "rows sum to 1" and o.path.startswith("blocks.0")]
    assert rows[0].said.endswith("a query that sees no key")


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda p, d: p * (1 - p) * d, "BA-1"),
        (lambda p, d: p * d, "BA-2"),
        (lambda p, d: d, "BA-3"),
    ],
)
def test_a_softmax_backward_that_is_none(wrong: Any, hint: str) -> None:
    values = dump(GPT2)
    p, d = values[HEAD + "attn"], values[HEAD + "d_attn_kept"]
    values = changed(values, HEAD + "d_scores", lambda _: wrong(1.0 * p, 1.0 * d))
    assert found(values, HEAD + "d_scores", "rows sum to 0").hints == (hint,)


def parts(values: Arrays, norm: str) -> tuple[Any, ...]:
    names = ("x_hat", "d_x_hat", "d_x", "rstd")
    return tuple(values[f"{norm}.{name}"].astype(np.float64) for name in names)


@pytest.mark.parametrize(
    ("change", "question", "hint"),
    [
        (lambda x: x + 0.1, "rows have mean 0", "NORM-8"),
        (lambda x: x - x.mean(axis=1, keepdims=True) + 0.01, "rows have mean 0", "NORM-4"),
        (lambda x: x * np.sqrt(9 / 10), "rows have mean square", "NORM-1"),
        (lambda x: x * (1 + 0.3 * uneven(x[..., :1])), "rows have mean square", "NORM-2"),
    ],
)  # fmt: skip
def test_a_norm(change: Any, question: str, hint: str) -> None:
    norm = "blocks.0.norm_1"
    one = found(changed(dump(GPT2), f"{norm}.x_hat", change), f"{norm}.x_hat", question)
    assert hint in ("", *one.hints)


def test_an_rms_norm() -> None:
    path = "blocks.0.norm_2.x_hat"
    values = changed(dump(LLAMA), path, lambda x: x / np.sqrt(10))
    assert "NORM-8" in found(values, path, "rows have mean square").hints


def test_a_norms_gradient() -> None:
    norm = "blocks.0.norm_1"
    values = dump(GPT2, "float64")
    x_hat, d, _, rstd = parts(values, norm)
    along = x_hat * (d * x_hat).mean(axis=-1, keepdims=True)
    centre = d.mean(axis=-1, keepdims=True)
    path, scale = f"{norm}.d_x", rstd[..., None]
    no_mean = changed(values, path, lambda _: scale * (d - along))
    assert "BN-2" in found(no_mean, path, "rows are orthogonal to 1").hints
    no_x_hat = changed(values, path, lambda _: scale * (d - centre))
    assert "BN-4" in found(no_x_hat, path, "rows are orthogonal to x_hat").hints
    asked = unreferenced.check(no_x_hat)
    assert not [o for o in asked if o.path == path and "to 1" in o.question and not o.fine]


@pytest.mark.parametrize(
    ("path", "made", "hint"),
    [
        ("mid", lambda v: v["norm_1.out"] + v["attention.out"], "RES-1"),
        ("mid", lambda v: 2 * v["attention.out"], "RES-2"),
        ("mid", lambda v: v["attention.out"], "RES-3"),
        ("out", lambda v: v["norm_2.out"] + v["mlp.out"], "RES-1"),
        ("out", lambda v: v["x"] + v["mlp.out"], "RES-5"),
        ("d_mid", lambda v: v["norm_2.d_x"], "BR-1"),
        ("d_x", lambda v: v["d_mid"], "BR-2"),
        ("attention.d_x", lambda v: v["attention.d_x_q"], "BR-2"),
        ("norm_1.out", lambda v: v["norm_1.x_hat"], "NORM-10"),
        ("attention.context", lambda v: v["attention.attn"] @ v["attention.k"], "CTX-1"),
        ("attention.out", lambda v: v["attention.out"][..., ::-1], ""),
    ],
)
def test_a_step_names_what_it_is_instead(path: str, made: Any, hint: str) -> None:
    values = dump(GPT2, "float64")
    block = "blocks.0."
    inside = {p.removeprefix(block): a for p, a in values.items() if p.startswith(block)}
    inside["x"] = values["x"]
    values = changed(values, block + path, lambda _: made(inside))
    one = found(values, block + path, path.rpartition(".")[2] + "[")
    assert hint in ("", *one.hints)


def test_a_weight_that_lies_the_other_way_is_named() -> None:
    values = dump(GPT2, "float64")
    name = "blocks.0.mlp.pre"
    x, w, b = (values[f"blocks.0.{n}"] for n in ("norm_2.out", "mlp.w_up", "mlp.b_up"))
    turned = changed(values, name, lambda _: x @ w.T.reshape(w.shape) + b)
    assert not found(turned, name, "pre[").hints
    square = values["blocks.0.attention.w_q"][:, :10]
    assert square.shape == (10, 10)
    q = (values["blocks.0.norm_1.out"] @ square.T)[:, None]
    alone = {"x": values["blocks.0.norm_1.out"], "w_q": square, "q": q, "b_q": np.zeros(10)}
    assert found(alone, "q", "q[").hints == ("QKV-6", "LOAD-1", "LOAD-2")


def test_the_loss() -> None:
    values = dump(GPT2)
    probs = changed(values, "loss.probs", softmax)
    assert "LOSS-3" in found(probs, "loss.probs", "softmax of logits").hints
    sums = changed(values, "loss.probs", lambda p: p / p.sum(axis=1, keepdims=True))
    assert "SM-1" in found(sums, "loss.probs", "rows sum to 1").hints
    d_logits = changed(values, "loss.d_logits", lambda d: 1.0 * values["loss.probs"])
    assert "nothing is below 0" in found(d_logits, "loss.d_logits", "rows sum to 0").means


def test_infinity_is_let_through_in_masked_scores_alone() -> None:
    values = dump(GPT2)
    masked = changed(
        values, HEAD + "scores", lambda s: np.where(np.tri(s.shape[-1], dtype=bool), s, -np.inf)
    )
    assert all(one.fine for one in unreferenced.check(masked))
    other = changed(values, HEAD + "scores", lambda s: np.where(s == s.max(), np.inf, s))
    assert found(other, HEAD + "scores", "every number is finite").count == 1


def test_the_answers_read_well() -> None:
    asked = unreferenced.check(changed(dump(GPT2), HEAD + "attn", column_softmax))
    said = unreferenced.text(asked)
    assert f"WRONG    {HEAD}attn: rows sum to 1" in said
    assert "the columns are 1 instead: the softmax runs over the wrong axis" in said
    assert "see SM-1" in said
    assert "holds    rows sum to 0: 3 values" in said
    read = json.loads(unreferenced.json(asked))
    assert read["fine"] is False
    assert any("SM-1" in one["hints"] for one in read["asked"] if not one["fine"])
    right = unreferenced.check(dump(GPT2))
    assert unreferenced.text(right).splitlines()[-1].startswith(f"All {len(right)} questions")
    assert json.loads(unreferenced.json(right))["fine"] is True
