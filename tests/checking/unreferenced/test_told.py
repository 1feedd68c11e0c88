"""What is said: a fault once, in the catalogue's words; and that nothing could be asked."""

import json

import numpy as np
import pytest

from handformer.checking import unreferenced
from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.show import answer
from tests.checking.unreferenced.dumps import Arrays, changed, dump

GPT2 = "gpt2 tied, without padding"
HEAD = "blocks.0.attention."


def wrong(values: Arrays) -> list[Asked]:
    return [one for one in unreferenced.check(values) if not one.fine]


def test_a_gradient_of_hidden_scores_is_told_once() -> None:
    values = changed(dump(GPT2), f"{HEAD}d_scores", lambda d: d + 1e-9)
    (one,) = (one for one in wrong(values) if one.question.startswith("0 where"))
    assert (one.path, one.hints) == (f"{HEAD}d_scores", ("BA-8",))


def test_the_row_that_it_is_says_so_where_it_is_wrong_and_only_there() -> None:
    values = dump(GPT2, "float64")
    mid = changed(values, "blocks.0.mid", lambda _: values["blocks.0.attention.out"])
    (one,) = (one for one in wrong(mid) if one.question.startswith("mid["))
    assert (one.said, one.hints) == ("Nothing goes around attention.", ("RES-3",))
    holds, _, told = unreferenced.text(unreferenced.check(mid)).partition("WRONG")
    assert one.question in holds
    assert one.said not in holds
    assert one.said in told


def test_an_edit_needs_sizes_that_the_arrays_tell() -> None:
    values = dump(GPT2, "float64")
    x, w, b = (values[f"blocks.0.{name}"] for name in ("norm_2.out", "mlp.w_up", "mlp.b_up"))
    pre = changed(values, "blocks.0.mlp.pre", lambda _: x @ w.reshape(w.shape[::-1]).T + b)
    assert [one.hints for one in wrong(pre)] == [("LOAD-1",)]


def alone() -> Arrays:
    """One head, without a batch."""
    rng = np.random.default_rng(8)
    x, w_q, w_k, w_v = (rng.normal(size=shape) for shape in ((5, 6), (6, 4), (6, 4), (6, 4)))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T / 2
    attn = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    d_attn = rng.normal(size=attn.shape)
    d_scores = attn * (d_attn - (attn * d_attn).sum(axis=-1, keepdims=True))
    return {
        "x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v, "q": q, "k": k, "v": v, "scores": scores,
        "attn": attn, "context": attn @ v, "d_attn": d_attn, "d_scores": d_scores,
    }  # fmt: skip


def test_a_head_alone_is_asked_too() -> None:
    values = alone()
    asked = unreferenced.check(values)
    assert all(one.fine for one in asked)
    questions = {one.question for one in asked}
    assert {"q[t,c] = sum(i, x[t,i] * w_q[i,c])", "scores are q k / sqrt(d_k)",
            "context[t,c] = sum(s, attn[t,s] * v[s,c])"} <= questions  # fmt: skip
    for name, change, hint in (
        ("context", values["attn"].T @ values["v"], "CTX-1"),
        ("scores", values["scores"] * 2, "SCALE-1"),
        ("d_scores", values["attn"] * values["d_attn"], "BA-2"),
    ):
        hints = [one.hints for one in wrong({**values, name: change}) if one.path == name]
        assert any(hint in some for some in hints)


@pytest.mark.parametrize(("heads", "shared"), [(2, True), (3, False), (8, False)])
def test_heads_that_cannot_be_shared_out_are_not_asked(heads: int, shared: bool) -> None:
    rng = np.random.default_rng(4)
    shapes = {"q_rot": (4, 5, 6), "k_rot": (heads, 5, 6), "scores": (4, 5, 5)}
    asked = unreferenced.check({name: rng.normal(size=shape) for name, shape in shapes.items()})
    assert any(one.question.startswith("scores are") for one in asked) is shared


def test_keys_of_a_memory_are_not_held_against_the_input() -> None:
    """Though both are of one length, and nothing in the dump says that there is a memory."""
    rng = np.random.default_rng(6)
    x, memory, w, b = (rng.normal(size=shape) for shape in ((2, 5, 6), (2, 5, 6), (6, 8), (8,)))
    k = (memory @ w + b).reshape(2, 5, 2, 4).swapaxes(1, 2)
    values = {"x": x, "w_k": w, "b_k": b, "k": k}
    assert wrong(values)
    assert not wrong({f"decoder.0.cross.{name}": array for name, array in values.items()})


def test_names_of_which_none_is_known_say_nothing_of_the_dump() -> None:
    values = {"foo": np.ones((2, 3)), "bar.grad": np.ones(4)}
    asked = unreferenced.check(values)
    assert all(one.fine for one in asked)
    said = "Nothing could be asked but that numbers are finite: no name of a value is known here."
    assert unreferenced.text(asked).splitlines()[-1] == said
    told = json.loads(unreferenced.json(asked))
    assert (told["fine"], told["answer"]) == (False, said)
    assert not unreferenced.fine(asked)
    assert unreferenced.fine(unreferenced.check({**values, "x": np.ones((2, 3))}))
    odd = unreferenced.check({"foo": np.array([np.nan])})
    assert answer(odd).startswith("1 of 1 questions are answered wrongly, first of foo")
