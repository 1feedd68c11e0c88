"""Cached and whole, padded and alone: they agree on every family, and what breaks it is named."""

import json
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import handformer.ops as plain
from handformer import tree
from handformer.checking.agreement import TOLERANCE, Agreement, compare
from handformer.checking.equivalence import kv_cache, padding
from handformer.errors import InputError
from handformer.formula.names import gradient
from handformer.generate.text import TextModel
from handformer.layers.heads import KeysValues
from handformer.models import CLASSES, Model, ModelConfig, decoder, encoder, past

SMALL = {"vocab_size": 19, "context": 16, "n_layers": 2, "n_heads": 4, "d_model": 24, "d_ff": 14}
FORMS: dict[str, dict[str, Any]] = {
    "gpt2": {"family": "gpt2"},
    "llama": {"family": "llama", "n_kv_heads": 2},
    "flash": {"family": "gpt2", "attention": "flash"},
    "bert": {"family": "bert"},
    "transformer": {"family": "transformer", "source_vocab_size": 23},
    "shared": {"family": "transformer", "shared": True},
}
CACHED = [form for form in FORMS if form != "bert"]


@cache
def model(form: str, **others: Any) -> Model:
    config = ModelConfig(**{**SMALL, **FORMS[form], **others})
    return CLASSES[config.family].init(config, seed=3)


@pytest.mark.parametrize("form", CACHED)
def test_cached_and_whole_agree(form: str) -> None:
    report = kv_cache(model(form))
    assert report.fine, report.text()
    paths = {one.path for one in report.values}
    assert {"head.out", "tokens"} <= paths
    kinds = {path.rpartition(".")[2] for path in paths}
    inside = {"log_total"} if form == "flash" else {"scores", "attn"}
    assert {"q", "k", "v", "context", "mask", "out", *inside} <= kinds
    assert all(one.off < TOLERANCE / 1e3 for one in report.values)


@pytest.mark.parametrize("form", FORMS)
def test_padded_and_alone_agree(form: str) -> None:
    report = padding(model(form))
    assert report.fine, report.text()
    paths = {one.path for one in report.values}
    for path in map(gradient, tree.flatten(model(form))):
        assert path in paths or f"{path}_lookup" in paths, path  # of a table used once they are one
    assert {"loss.loss", "head.out"} <= paths
    assert any(path.endswith("attention.d_q") for path in paths)


@pytest.mark.parametrize("context", [1, 2, 3, 6])
def test_a_short_context_is_read_too(context: int) -> None:
    assert kv_cache(model("gpt2", context=context)).fine
    assert padding(model("gpt2", context=context)).fine


def test_weights_of_16_bits_are_widened() -> None:
    short = tree.transform(model("llama"), lambda _, array: array.astype(ml_dtypes.bfloat16))
    assert kv_cache(short).fine


def test_a_model_comes_with_its_tokenizer_or_without() -> None:
    assert kv_cache(TextModel(model("gpt2"), None)) == kv_cache(model("gpt2"))  # type: ignore[arg-type]


def test_an_encoder_has_no_cache() -> None:
    with pytest.raises(InputError, match="an encoder reads all tokens at once"):
        kv_cache(model("bert"))


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InputError, match="a dict can't be checked"):
        padding({})  # type: ignore[arg-type]


def first(report: Agreement) -> str:
    """Where the two ways part."""
    assert not report.fine
    assert report.first is not None
    return report.first.path


def test_positions_that_begin_again_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(tokens: Any, *others: Any) -> Any:
        valid, positions, mask = past.look_back(tokens, *others)
        return valid, positions - positions[:, :1], mask

    monkeypatch.setattr(decoder, "look_back", wrong)
    report = kv_cache(model("llama"))
    assert first(report) == "positions"
    assert "positions is the first of " in report.text()
    assert report.first is not None
    assert report.first.where.startswith("piece ")


def test_a_mask_at_the_upper_left_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        plain.masks.causal, "forward", lambda n, keys: np.tri(n, keys, dtype=np.bool_)
    )
    report = kv_cache(model("gpt2"))
    assert first(report) == "blocks.0.attention.mask"
    assert report.first is not None
    assert report.first.where == "piece 3: token 9 to 12"  # one token alone has no triangle


def test_keys_in_another_order_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KeysValues.then

    def wrong(self: KeysValues, k: Any, v: Any) -> KeysValues:
        grown = right(self, k, v)
        return KeysValues(np.roll(grown.k, 1, axis=-2), grown.v)

    monkeypatch.setattr(KeysValues, "then", wrong)
    assert first(kv_cache(model("gpt2"))) == "blocks.0.attention.k"
    assert first(kv_cache(model("llama"))) == "blocks.0.attention.k_rot"


def test_positions_that_count_padding_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(valid: Any, _: int) -> Any:
        return np.broadcast_to(np.arange(valid.shape[-1]), valid.shape)

    monkeypatch.setattr(encoder, "places", wrong)
    report = padding(model("bert"))
    assert first(report) == "positions"
    assert report.first is not None
    assert report.first.where.endswith("padded on the left")


def test_padding_that_is_seen_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(valid: Any, n: int) -> Any:
        return np.ones((*valid.shape[:-1], n, valid.shape[-1]), dtype=np.bool_)

    monkeypatch.setattr(plain.masks.padding, "forward", wrong)
    report = padding(model("gpt2"))
    assert report.first is not None
    assert report.first.where.endswith("padded on the left")  # on the right the triangle hides it
    assert "scores" not in first(report)


def test_a_gradient_of_padding_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = plain.layer_norm.backward

    def wrong(d_y: Any, *others: Any) -> Any:
        made = right(d_y, *others)
        return made._replace(d_beta=made.d_beta + d_y.shape[-2])

    monkeypatch.setattr(plain.layer_norm, "backward", wrong)
    report = padding(model("gpt2"))
    assert first(report) == "norm.d_beta"
    assert report.first is not None
    assert report.first.where.startswith("all rows")


def test_the_report_is_for_programs_too() -> None:
    report = kv_cache(model("gpt2"))
    told = json.loads(json.dumps(report.json(), allow_nan=False))
    assert told["fine"] is True
    assert told["first"] is None
    assert len(told["values"]) == len(report.values)
    assert {"path", "off", "place", "found", "right", "where", "fine"} == told["values"][0].keys()
    assert f"{len(report.values)} values agree" in report.text()


def test_what_is_no_number_or_of_another_shape_is_never_right() -> None:
    ones = np.ones((2, 3))
    assert not compare("x", np.full((2, 3), np.nan), ones, "").fine
    assert not compare("x", np.ones((2, 4)), ones, "").fine
    assert compare("x", np.full((2, 3), -np.inf), np.full((2, 3), -np.inf), "").fine
    assert not Agreement("nothing", "gpt2", ()).fine
    report = Agreement("x", "gpt2", (compare("x", np.full((2, 3), np.nan), ones, ""),))
    assert json.loads(json.dumps(report.json(), allow_nan=False))["values"][0]["off"] is None
