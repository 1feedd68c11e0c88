"""Weights in 16 bits: which ones, in what order, and what is computed with them."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from handformer import tree
from handformer.errors import InputError
from handformer.generate.precision import DTYPES, kept_in
from handformer.models import CLASSES
from tests.generate.loud import loud

every_kind = pytest.mark.parametrize("weights", DTYPES)


@every_kind
@pytest.mark.parametrize("family", CLASSES)
def test_matrices_change_and_the_rest_is_float32(family: str, weights: str) -> None:
    model = loud(family)
    kept, before = tree.flatten(kept_in(model, weights)), tree.flatten(model)
    assert kept.keys() == before.keys()
    for path, array in kept.items():
        matrix = array.ndim == 2
        assert array.dtype == (DTYPES[weights] if matrix else np.float32), path
        assert_array_equal(array, before[path].astype(array.dtype))
        if matrix:
            rows = array.flags.c_contiguous
            assert rows == path.endswith("table") or 1 in array.shape, path


@every_kind
@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_all_is_computed_in_float32(family: str, weights: str) -> None:
    kept: Any = kept_in(loud(family), weights)
    converted: Any = tree.transform(kept, lambda _, array: array.astype(np.float32))
    tokens = np.array([[1, 2, 3, 2]])
    logits, cache = kept.forward(tokens)
    right, right_cache = converted.forward(tokens)
    assert_array_equal(logits, right)
    values, right_values = tree.flatten(cache), tree.flatten(right_cache)
    for path, value in values.items():
        if not path.endswith("table"):
            assert value.dtype == right_values[path].dtype, path
    d_logits = np.ones_like(logits)
    grads = tree.gradients(kept.backward(d_logits, cache))
    right_grads = tree.gradients(converted.backward(d_logits, right_cache))
    assert {array.dtype for array in grads.values()} == {np.dtype(np.float32)}
    for path, array in grads.items():
        np.testing.assert_allclose(array, right_grads[path], rtol=1e-4, atol=1e-4, err_msg=path)


def test_an_encoder_decoder_computes_in_float32_too() -> None:
    kept: Any = kept_in(loud("transformer"), "bfloat16")
    source, tokens = np.array([[1, 2, 3]]), np.array([[4, 5]])
    logits, _ = kept.forward(source, tokens)
    assert logits.dtype == np.float32
    valid = np.ones(source.shape, bool)
    found, past = kept.extend(tokens, None, kept.encode(source), source_valid=valid)
    np.testing.assert_allclose(found, logits, rtol=1e-5, atol=1e-5)
    assert past.blocks[0].k.dtype == np.float32


def test_wrong_names_and_weights_beyond_the_range_are_one_line() -> None:
    with pytest.raises(InputError, match="weights 'int8': expected one of float32, bfloat16, fl"):
        kept_in(loud("gpt2"), "int8")
    large = tree.transform(loud("llama"), lambda _, array: array * 1e6)
    with pytest.raises(InputError, match=r"embedding\.table holds .*e\+06, beyond float16's range"):
        kept_in(large, "float16")
    assert np.isfinite(tree.flatten(kept_in(large, "bfloat16"))["embedding.table"]).all()


def test_a_model_that_is_damaged_stays_as_it_is() -> None:
    broken = tree.transform(loud("llama"), lambda _, array: np.full_like(array, np.nan))
    assert np.isnan(tree.flatten(kept_in(broken, "float16"))["embedding.table"]).all()


def test_bfloat16_is_the_nearest() -> None:
    model = loud("llama")
    table = tree.flatten(kept_in(model, "bfloat16"))["embedding.table"]
    right = tree.flatten(model)["embedding.table"].astype(ml_dtypes.bfloat16)
    assert table.dtype == ml_dtypes.bfloat16
    assert table.tobytes() == right.tobytes()
