"""Generation by the engine: at every step what the plain, uncached forward gives."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from handformer import fast, tree
from handformer import ops as plain
from handformer.fast import pre_norm_step
from handformer.generate import Sampling, Step, generate, translate
from handformer.generate.precision import kept_in
from handformer.models import Decoder
from tests.generate.loud import CONTEXT, loud

ENGINE: Any = SimpleNamespace(**{**vars(fast), "pre_norm_step": pre_norm_step})
PROMPTS = [[4], [1, 2, 3, 2], [5, 0, 5, 9, 3, 7], [8, 8, 1, 2, 9, 10, 6, 4]]
GREEDY = Sampling(temperature=0)


def decoder(family: str, weights: str) -> Decoder:
    """A model in that precision; for float64 with its matrices laid out in the same way."""
    model = loud(family, d_k=4, d_model=24, d_ff=20, n_heads=6, n_kv_heads=3)
    assert isinstance(model, Decoder)
    if weights != "float64":
        return kept_in(model, weights)
    return tree.transform(
        model, lambda path, a: np.asfortranarray(a) if not path.endswith("table") else a.copy()
    )


def steps(model: Decoder, ops: Any, **settings: Any) -> list[Step]:
    settings = {"max_tokens": 3 * CONTEXT, "sampling": GREEDY, "seed": 7, **settings}
    return list(generate(model, PROMPTS, ops=ops, **settings))


@pytest.mark.parametrize(
    ("family", "weights"),
    [
        ("llama", "float64"),
        ("gpt2", "float64"),
        ("llama", "float32"),
        ("llama", "bfloat16"),
        ("gpt2", "float16"),
    ],
)
@pytest.mark.parametrize("chunk", [None, 2])
def test_the_engine_writes_what_the_plain_forward_would(
    family: str, weights: str, chunk: int | None
) -> None:
    model = decoder(family, weights)
    wide = tree.transform(model, lambda _, a: a.astype(np.float64))  # the same weights
    found = steps(model, ENGINE, chunk=chunk, stop_tokens=[3])
    right = steps(wide, plain, cached=False, stop_tokens=[3])
    assert len(found) == len(right)
    for one, other in zip(found, right, strict=True):
        assert_array_equal(one.tokens, other.tokens)
        assert one.logits.dtype == (np.float64 if weights == "float64" else np.float32)
        scale = float(np.abs(other.logits).max())
        atol = 1e-12 if weights == "float64" else 2e-5
        assert_allclose(one.logits, other.logits, rtol=0, atol=atol * scale)


def test_the_engine_answers_as_the_plain_ops_do() -> None:
    model: Any = loud("transformer")
    sources = [[1, 2, 3], [4, 5]]
    found, right = (
        list(translate(model, sources, begin=1, end=0, ops=ops)) for ops in (ENGINE, plain)
    )
    for one, other in zip(found, right, strict=True):
        assert_array_equal(one.tokens, other.tokens)
        assert_allclose(one.logits, other.logits, atol=1e-11)
