"""The cases and the committed numbers: what they promise, checked without a peer."""

import numpy as np
import pytest

from tests.peers import golden
from tests.peers.cases import CASES, IGNORED, picture, shapes

pytestmark = pytest.mark.parametrize("case", CASES, ids=str)


def test_file_is_complete_and_written_the_same_way_again(case):
    numbers = golden.load(case.name)
    sizes = shapes(case.config)
    assert {path: array.shape for path, array in numbers.params.items()} == sizes
    assert {path: array.shape for path, array in numbers.grads.items()} == sizes
    floats = [
        *numbers.params.values(),
        *numbers.grads.values(),
        *numbers.values.values(),
        numbers.logits,
    ]
    assert all(array.dtype == np.float64 and np.isfinite(array).all() for array in floats)
    assert golden.to_bytes(numbers) == (golden.FOLDER / f"{case}.safetensors").read_bytes()


def test_nothing_that_a_mistake_could_hide_behind(case):
    numbers = golden.load(case.name)
    assert sum(array.size for array in numbers.params.values()) < 3000
    assert all((array != 0).all() and (array != 1).all() for array in numbers.params.values())
    for name, tokens in numbers.inputs.items():
        if name.endswith("tokens"):
            assert all(len(set(row)) < len(row) for row in tokens), "no token repeats inside a row"
            assert set(tokens[0]) & set(tokens[1]), "no token repeats across rows"
    ignored = (numbers.targets == IGNORED).sum(axis=1)
    assert len(set(ignored)) > 1, "a mean of means would equal the mean"
    config = case.config
    sizes = [
        config.n_heads,
        config.d_k,
        config.d_model,
        config.d_ff,
        config.vocab_size,
        config.context,
    ]
    sizes += [*picture(case.counted).shape, *picture(case.source_valid).shape[1:2]]
    sizes += [config.n_heads * config.d_k, *{config.n_kv_heads} - {config.n_heads}]
    assert len(set(sizes)) == len(sizes)


def test_rows_of_attention_sum_to_one_or_are_hidden(case):
    numbers = golden.load(case.name)
    hidden = 0
    for path, attn in numbers.values.items():
        if path.endswith(".attn"):
            place = path.removesuffix(".attn")
            d_scores, context = (
                numbers.values[f"{place}.d_scores"],
                numbers.values[f"{place}.context"],
            )
            empty = ~attn.any(axis=-1)
            hidden += empty.sum()
            np.testing.assert_allclose(attn.sum(axis=-1)[~empty], 1, rtol=0, atol=1e-15)
            np.testing.assert_allclose(d_scores.sum(axis=-1), 0, rtol=0, atol=1e-15)
            assert not d_scores[attn == 0].any()
            assert not context[empty].any()
    assert bool(hidden) == (
        case.name
        in {
            "gpt2_untied",
            "llama_untied",
            "bert_untied",
            "transformer_untied",
            "transformer_shared",
        }
    )
