"""Any array may stand under any name: it is asked what it can be asked, and nothing falls over."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from handformer.checking import unreferenced
from tests.checking.unreferenced.dumps import Arrays, dump

OF_ITSELF = {
    "every number is finite",
    "a gradient has the shape of its value",
    "not all of it is 0",
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "a number alone": lambda a: np.array(0.5),
    "a whole number alone": lambda a: np.array(3),
    "nothing": lambda a: np.zeros(0),
    "rows of nothing": lambda a: np.zeros((*a.shape[:-1], 0)),
    "whole numbers": lambda a: np.arange(a.size).reshape(a.shape) - 3,
    "truth values": lambda a: np.arange(a.size).reshape(a.shape) % 2 == 0,
}
ODD: dict[str, Callable[[Any], Any]] = {
    "one number in a row": lambda a: np.array([0.5]),
    "a row": lambda a: np.linspace(-1, 1, a.shape[-1]),
    "a block": lambda a: np.linspace(-1, 1, 120).reshape(4, 5, 6),
    "an axis more": lambda a: a[None] * 1.0,
    "an axis less": lambda a: a[0] * 1.0,
    "a key less": lambda a: a[..., 1:] * 1.0,
    "zeros": np.zeros_like,
    "huge numbers": lambda a: np.full(a.shape, -1e300),
    "endless numbers": lambda a: np.full(a.shape, np.inf),
    "NaN": lambda a: np.full(a.shape, np.nan),
}


def part(label: str, names: str, **more: str) -> Arrays:
    """Some values of the first block, by these names alone; more: from elsewhere in it."""
    whole = dump(label)
    return {
        **{name.rpartition(".")[2]: whole[f"blocks.0.{name}"] for name in names.split()},
        **{name: whole[path] for name, path in more.items()},
    }


def of(scope: str, names: str) -> str:
    return " ".join(f"{scope}.{name}" for name in names.split())


GPT2, LLAMA = "gpt2 untied, dropout", "llama tied, dropout"
ATTENTION = """q k v q_rot k_rot cos mask scores attn keep context w_q w_o out d_attn_kept d_scores
               d_q d_q_rot d_x_q d_x_k d_x_v d_x"""
PARTS = {
    "attention": part(LLAMA, of("attention", ATTENTION), x="blocks.0.norm_1.out"),
    "norm": part(GPT2, of("norm_1", "x_hat mean rstd gamma beta out d_x_hat d_x"), x="x"),
    "other norm": part(LLAMA, of("norm_1", "x_hat rrms gamma out d_x_hat d_x"), x="embedding.out"),
    "mlp": part(GPT2, of("mlp", "w_up b_up pre post w_down b_down out"), x="blocks.0.norm_2.out"),
    "gated mlp": part(LLAMA, of("mlp", "w_up w_gate gate up act post w_down out"),
                      x="blocks.0.norm_2.out"),
    "sums": {
        f"blocks.0.{name}": dump(GPT2)[f"blocks.0.{name}"]
        for name in ["mid", "out", "d_mid", "d_x", "attention.out", "mlp.out", "norm_1.d_x"]
    } | {"x": dump(GPT2)["x"]},
    "loss": {name: dump(GPT2)[f"loss.{name}"] for name in ("probs", "d_logits", "losses")}
    | {"logits": dump(GPT2)["head.out"]},
}  # fmt: skip


def replaced(values: Arrays, change: Callable[[Any], Any]) -> Iterator[tuple[str, Arrays]]:
    """The same dump with one of its arrays another one: each in turn."""
    for path, array in values.items():
        yield path, {**values, path: np.asarray(change(array))}


@pytest.mark.parametrize(("label", "odd"), [*product(PARTS, ODD)])
def test_an_odd_array_is_asked_what_it_can_be_asked(label: str, odd: str) -> None:
    for path, values in replaced(PARTS[label], ODD[odd]):
        asked = unreferenced.check(values)
        finite = next(o for o in asked if o.path == path and o.question.endswith("finite"))
        assert finite.fine is (odd not in ("NaN", "endless numbers"))
        assert unreferenced.text(asked)
        assert unreferenced.json(asked)


@pytest.mark.parametrize(("label", "odd"), [*product(PARTS, WHOLE)])
def test_of_what_holds_no_rows_of_numbers_nothing_more_is_asked(label: str, odd: str) -> None:
    for path, values in replaced(PARTS[label], WHOLE[odd]):
        asked = {one.question for one in unreferenced.check(values) if one.path == path}
        assert "every number is finite" in asked
        assert asked <= OF_ITSELF
