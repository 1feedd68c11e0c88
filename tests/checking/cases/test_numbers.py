"""No size looks like another one, and no number is neutral: what each promise means, computed."""

from itertools import combinations

import numpy as np
import pytest

from handformer.ops.cross_entropy import IGNORED
from tests.checking.cases.made import MODELS, SMALL, info, made

OWN = [n for n in SMALL if info(n).family not in ("training", "generation", "sampling")]
PADDED = [n for n in MODELS if not made(n)["valid"].all()]
ATTENTION = [n for n in OWN if any(path.rpartition(".")[2] == "attn" for path in made(n))]
# Everyday attention is as wide in all as the model, so that a transposed weight fits.
EVERYDAY = ("attention", "gpt2-tiny", "gpt2-padded", "gpt2-dropout", "bert-tiny")


@pytest.mark.parametrize("name", OWN)
def test_no_two_sizes_are_equal(name: str) -> None:
    sizes = dict(info(name).sizes)
    sizes.pop("n_layers", None)  # no axis of any array
    if "n_heads" in sizes:
        heads, d_k = sizes["n_heads"], sizes["d_k"]
        assert heads > 1
        groups = sizes.get("n_kv_heads")
        if groups:
            assert 1 < groups < heads
            sizes |= {"group": heads // groups, "keys' width": groups * d_k}
        if name not in EVERYDAY:
            sizes["heads' width"] = heads * d_k
        else:
            assert heads * d_k == sizes["d_model"]
    same = [pair for pair in combinations(sizes, 2) if sizes[pair[0]] == sizes[pair[1]]]
    assert not same
    assert 1 not in {*sizes.values()} - {sizes.get("group")}


def test_some_attention_is_everyday_and_some_is_not() -> None:
    assert {*EVERYDAY} < {*OWN}
    assert {"gpt2-stress", "llama-tiny", "encoder-decoder-tiny"} <= {*OWN} - {*EVERYDAY}


@pytest.mark.parametrize("name", OWN)
def test_sizes_are_those_of_the_arrays(name: str) -> None:
    lengths = {length for value in made(name).manifest.values for length in value.shape}
    apart = {"n_layers", "n_heads", "n_kv_heads", "d_k"}
    assert {size for key, size in info(name).sizes.items() if key not in apart} <= lengths


@pytest.mark.parametrize("name", OWN)
def test_no_weight_is_neutral(name: str) -> None:
    for value in made(name).manifest.values:
        if value.kind != "weight":
            continue
        array, part = made(name)[value.path], value.path.rpartition(".")[2]
        if array.ndim == 1:
            off = array - (1 if part == "gamma" else 0)
            assert np.abs(off).min() > 0.05, value.path
            assert np.unique(array).size == array.size, value.path
        else:
            assert array.std() > 0.1, value.path
            if array.shape[0] == array.shape[1]:
                assert np.abs(array - array.T).max() > 0.5, value.path


@pytest.mark.parametrize("name", MODELS)
def test_tokens_come_again_in_their_row_and_in_others(name: str) -> None:
    tokens, valid = made(name)["tokens"], made(name)["valid"]
    rows = [row[real].tolist() for row, real in zip(tokens, valid, strict=True)]
    assert any(len({*row}) < len(row) for row in rows)
    assert any({*one} & {*other} for one, other in combinations(rows, 2))
    assert tokens.max() < info(name).sizes["vocab_size"] - 1


@pytest.mark.parametrize("name", [*MODELS, "loss", "smoothed-loss"])
def test_some_targets_are_ignored_in_each_row_another_number(name: str) -> None:
    targets = made(name)["targets" if name.endswith("loss") else "loss.targets"]
    ignored = (targets == IGNORED).sum(axis=1)
    assert ignored.any()
    assert len({*ignored.tolist()}) > 2
    assert (ignored < targets.shape[1]).all()


def test_some_models_have_padding() -> None:
    begins = [n for n in PADDED if not made(n)["valid"][:, 0].all()]
    ends = [n for n in PADDED if not made(n)["valid"][:, -1].all()]
    assert {*begins} == {"gpt2-padded", "llama-padded"}
    assert {*ends} == {*begins, "bert-tiny", "encoder-decoder-tiny"}
    for name in PADDED:
        assert made(name)["valid"].all(axis=1).any(), name
    assert not made("encoder-decoder-tiny")["source_valid"].all()


@pytest.mark.parametrize("name", ["padded-attention", "gpt2-padded", "llama-padded"])
def test_some_queries_see_no_key(name: str) -> None:
    masks = [path for path in made(name) if path.rpartition(".")[2] == "mask"]
    assert any(not made(name)[path].any(axis=-1).all() for path in masks)


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_one_row_hardly_varies_before_its_first_norm(family: str) -> None:
    for name in MODELS:
        if info(name).family != family or name == "gpt2-dropout":  # which drops some of it
            continue
        path = "norm.x" if family == "bert" else "blocks.0.norm_1.x"
        spread = made(name)[path].std(axis=-1)
        assert (spread > 3e-4).all(), name
        assert 0 < (spread < 3e-3).sum() < spread.size / 2, name


@pytest.mark.parametrize("name", ["layer-norm", "rms-norm", "pre-norm-block"])
def test_one_row_of_a_norm_hardly_varies(name: str) -> None:
    spread = made(name)["x"].std(axis=-1)
    assert (spread < 3e-3).sum() == 1
    assert spread.min() > 3e-4


@pytest.mark.parametrize(
    "name", ["mlp", "mlp-gelu", "geglu", "gpt2-tiny", "gpt2-padded", "gpt2-stress", "bert-tiny"]
)
def test_something_goes_in_where_two_gelus_differ_most(name: str) -> None:
    inside = [p for p in made(name) if p.rpartition(".")[2] in ("pre", "gate", "t")]
    reached = np.concatenate([np.abs(made(name)[path]).ravel() for path in inside])
    assert ((reached > 2.6) & (reached < 2.8)).any()


@pytest.mark.parametrize("name", ATTENTION)
def test_rows_of_attention_are_uneven_and_not_one_hot(name: str) -> None:
    for path in made(name):
        if path.rpartition(".")[2] == "attn":
            attn = made(name)[path]
            rows = attn[(attn > 0).sum(axis=-1) > 2]
            largest = rows.max(axis=-1)
            even = 1 / (rows > 0).sum(axis=-1)
            assert np.median(largest / even) > 1.3, path
            assert np.median(largest) < 0.95, path


def test_scores_leave_the_range_of_exp_in_float32() -> None:
    scores = made("gpt2-stress")["blocks.0.attention.scores"]
    assert scores[:, 0].max(axis=-1).min() > 90
    assert scores[:, 1].max() < -90
    attn = made("gpt2-stress")["blocks.0.attention.attn"][:, :2]
    assert np.median(attn[..., -1, :].max(axis=-1)) < 0.9  # not one-hot for all that
    rows = made("softmax")["x"]
    assert rows.min(axis=-1).max() > 90
    assert rows.max(axis=-1).min() < -90


@pytest.mark.parametrize("name", ["llama-stress", "rotary-attention", "rotary-interleaved"])
def test_positions_reach_beyond_64(name: str) -> None:
    assert made(name)["positions"].max() >= 64
    bases = {
        scope.scalars["base"] for scope in made(name).manifest.scopes if "base" in scope.scalars
    }
    assert bases == {10000.0 if name == "rotary-attention" else 500000.0}


def test_some_heads_are_tied_and_some_have_a_table_of_their_own() -> None:
    own = set()
    for name in MODELS:
        trace, size = made(name), info(name).sizes["vocab_size"]
        weights = {v.path: v.shape for v in trace.manifest.values if v.kind == "weight"}
        (table,) = (p for p, shape in weights.items() if shape[0] == size and len(shape) == 2)
        heads = [path for path, shape in weights.items() if shape[1:] == (size,)]
        for path in heads:
            own.add(name)
            assert np.abs(trace[path] - trace[table].T).max() > 1, path
    assert own == {"gpt2-padded", "gpt2-stress", "llama-tiny", "llama-stress"}


@pytest.mark.parametrize("name", ["dropout-attention", "gpt2-dropout"])
def test_dropout_keeps_some_and_drops_some(name: str) -> None:
    keeps = [path for path in made(name) if path.rpartition(".")[2] == "keep"]
    for path in keeps:
        assert 0.5 < made(name)[path].mean() < 0.9, path
    assert keeps


@pytest.mark.parametrize("name", OWN)
def test_nothing_is_so_small_that_a_mistake_would_drown_in_rounding(name: str) -> None:
    for value in made(name).manifest.values:
        array = made(name)[value.path]
        if array.dtype.kind != "f" or array.ndim == 0:
            continue
        # The bias of the keys moves all scores of a row together: its gradient is 0, but for
        # rotary positions. (A decoder's memory has no later use after the last block.)
        last = value.path.rpartition(".")[2]
        if last in ("d_b_k", "d_memory_later"):
            continue
        assert np.abs(array).max() > 1e-4, value.path
        assert np.ptp(array) > 1e-4, value.path
