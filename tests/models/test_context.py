"""What a model refuses in one line: a text beyond its context, another family, a wrong mask."""

import numpy as np
import pytest

from handformer.errors import InputError
from handformer.layers import MLP, MultiHeadAttention, Rotary
from handformer.models import CLASSES, Decoder, Encoder, EncoderDecoder, ModelConfig

SIZES = {"vocab_size": 7, "context": 4, "n_layers": 1, "n_heads": 2, "d_model": 4}


def model(family, **settings):
    return CLASSES[family].init(ModelConfig(family=family, **SIZES, **settings))


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_a_text_longer_than_the_context(family):
    tokens = np.zeros((2, 5), dtype=np.int64)
    with pytest.raises(InputError, match="5 tokens is longer than the model's context of 4"):
        model(family).forward(tokens)
    valid = np.array([[True] * 4 + [False], [False] + [True] * 4])
    out, _ = model(family).forward(tokens, valid=valid)  # padding doesn't count
    assert out.shape == (2, 5, 7)


def test_both_sides_of_an_encoder_decoder_have_a_context():
    short, long = np.zeros((1, 3), dtype=np.int64), np.zeros((1, 5), dtype=np.int64)
    for source, target in ((short, long), (long, short)):
        with pytest.raises(InputError, match="5 tokens is longer"):
            model("transformer", shared=True).forward(source, target)


def test_a_decoder_counts_the_past():
    decoder = model("gpt2")
    tokens = np.zeros((1, 3), dtype=np.int64)
    _, past = decoder.extend(tokens, None)
    with pytest.raises(InputError, match="6 tokens is longer"):
        decoder.extend(tokens, past)


@pytest.mark.parametrize(
    ("made", "family"), [(Decoder, "bert"), (Encoder, "llama"), (EncoderDecoder, "gpt2")]
)
def test_a_config_of_another_family(made, family):
    with pytest.raises(InputError, match=f"family = '{family}': expected"):
        made.init(ModelConfig(family=family, **SIZES))


def test_settings_of_another_family():
    with pytest.raises(InputError, match="rope_base is a setting of family = llama, not gpt2"):
        ModelConfig.read({"family": "gpt2", "rope_base": 5.0})


@pytest.mark.parametrize("mask", [np.zeros((3, 3)), np.ones((3, 3), dtype=np.int64)])
def test_a_mask_that_is_not_boolean(mask):
    layer = MultiHeadAttention.init(4, 2, np.random.default_rng(0))
    with pytest.raises(InputError, match=r"mask is of dtype \w+, expected bool"):
        layer.forward(np.ones((3, 4)), mask=mask)


@pytest.mark.parametrize("valid", [np.ones((1, 3)), np.ones((1, 2), dtype=bool)])
def test_a_validity_that_is_not_boolean_or_of_another_shape(valid):
    with pytest.raises(InputError, match="expected bool and the tokens' shape"):
        model("gpt2").forward(np.zeros((1, 3), dtype=np.int64), valid=valid)


def test_names_that_are_no_activation_or_rotation():
    with pytest.raises(InputError, match="activation = 'softmax': expected one of relu"):
        MLP.init(4, 8, np.random.default_rng(0), activation="softmax")
    with pytest.raises(InputError, match="pairs = 'interleaved': expected one of rotary"):
        Rotary(pairs="interleaved")


def test_rotary_positions_go_on_where_the_past_ends():
    rng = np.random.default_rng(1)
    layer = MultiHeadAttention.init(8, 2, rng, position=Rotary())
    x = rng.normal(size=(2, 5, 8))
    mask = np.tri(5, dtype=bool)
    whole, _ = layer.forward(x, mask=mask)
    first, past = layer.extend(x[:, :3], None, mask=mask[:3, :3])
    rest, _ = layer.extend(x[:, 3:], past, mask=mask[3:])
    np.testing.assert_allclose(np.concatenate([first, rest], axis=1), whole, rtol=0, atol=1e-12)
