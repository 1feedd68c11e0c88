"""The arithmetic of a step, against a count by hand and against the arrays of a model."""

import pytest

from handformer import tree
from handformer.bench import arithmetic
from handformer.errors import InputError
from handformer.models import Decoder, ModelConfig
from tests.bench.small import LEARNER, WRITER


def test_a_small_step_counted_by_hand() -> None:
    # Two blocks of 4 matrices 4 x 4 and two of 4 x 16, and the tied head 4 x 5: 404 weights.
    assert arithmetic.weights(LEARNER.config) == 404
    # Each weight and each of 2 * 3 tokens: 6. Of attention six products of 2 * 3 * 3 * 2 for each
    # of 2 layers, 2 heads and 2 windows.
    by_hand = 6 * 404 * 6 + 6 * 36 * 8
    assert arithmetic.operations(LEARNER.config, LEARNER.batch) == by_hand == 16272


def test_grouped_heads_and_a_gate_counted_by_hand() -> None:
    # q 8 x 16, k and v 8 x 8, o 16 x 8, gate, up and down 8 x 8, the tied head 8 x 7.
    assert arithmetic.weights(WRITER.config) == 128 + 2 * 64 + 128 + 3 * 64 + 56
    by_hand = 6 * 632 * 64 + 6 * (2 * 64 * 64 * 4) * 4
    assert arithmetic.operations(WRITER.config, 1) == by_hand


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_every_matrix_of_a_model_is_counted(family: str, tied: bool) -> None:
    config = ModelConfig.model_validate(
        {"family": family, "vocab_size": 11, "context": 6, "n_layers": 2, "n_heads": 2,
         "d_model": 8, "d_ff": 24, "tied": tied}
    )  # fmt: skip
    arrays = tree.flatten(Decoder.init(config))
    tables = {"position_embedding.table"} | (set() if tied else {"embedding.table"})
    matrices = [a.size for path, a in arrays.items() if a.ndim == 2 and path not in tables]
    assert arithmetic.weights(config) == sum(matrices)


def test_an_encoder_is_refused() -> None:
    with pytest.raises(InputError, match="gpt2 or llama"):
        arithmetic.operations(ModelConfig(family="bert"), 1)
