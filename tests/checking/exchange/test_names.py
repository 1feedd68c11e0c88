"""Every convention of names: the arrays of a model come back under our paths, in our order."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors.numpy import save_file

import handformer as hand
from handformer.checking import exchange
from handformer.checking.exchange.matching import MASKED, Matched
from handformer.tracing.trace import Trace
from tests.checking.exchange.conventions import Arrays, lens, llm_c
from tests.tracing.small import TOKENS, traced
from tests.weights.test_hugging_face import TOKENIZER, model


@cache
def drawn(name: str) -> Trace:
    """A model in which every number is drawn, also biases and gains."""
    return hand.trace(model(name, np.float64), tokens=TOKENS, dtype=np.dtype("float64"))


def matched(arrays: Arrays, trace: Trace, folder: Path, table: Any = None) -> Matched:
    whole = {
        name: np.ascontiguousarray(array).reshape(np.shape(array)) for name, array in arrays.items()
    }
    save_file(whole, folder / "dump.safetensors")
    return exchange.match(exchange.read(folder / "dump.safetensors"), trace, table)


def agree(found: Matched, trace: Trace, rtol: float = 0.0) -> None:
    """Every array that was found is what the trace has; of scores, what the mask shows."""
    for path, theirs in found.found.items():
        ours, written = trace[path], theirs.array
        assert written.shape == ours.shape, path
        if MASKED in theirs.note:
            shown = trace[path.replace("scores", "mask")]
            assert np.isneginf(written[~shown]).all()
            written, ours = written[shown], ours[shown]
        assert_allclose(written, ours, rtol=rtol, atol=rtol, err_msg=path)
        assert theirs.path == path


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert", "transformer"])
def test_our_own_names_and_those_of_copies(family: str, tmp_path: Path) -> None:
    trace = traced(family)
    arrays = {
        name: trace[name] for value in trace.manifest.values for name in (value.path, *value.also)
    }
    found = matched(arrays, trace, tmp_path)
    assert {*found.found} == {*trace}
    assert not found.unknown
    assert not found.copies
    assert not found.aside
    agree(found, trace)


@pytest.mark.parametrize(
    ("name", "groups"), [("gpt2", 4), ("llama", 4), ("llama with grouped heads, tied", 2)]
)
def test_the_names_of_transformer_lens(name: str, groups: int, tmp_path: Path) -> None:
    trace = drawn(name)
    arrays = lens(_Readable(trace), 2, 4, groups)
    found = matched(arrays, trace, tmp_path)
    assert not found.unknown
    assert not found.copies
    agree(found, trace, 1e-15)
    weights = {path for path in trace if path.endswith(("w_q", "w_k", "w_o", "d_w_v"))}
    values = {
        f"blocks.1.attention.{path}" for path in ("q", "d_k", "context", "scores", "d_attn_kept")
    }
    assert weights | values <= {*found.found}
    assert found.found["blocks.1.attention.q"].axes == ("b", "t", "h", "c")
    assert found.found["blocks.1.attention.w_o"].axes == ("h", "c", "i")
    assert "one over theirs" in found.found[_first_norm(trace)].note
    assert found.aside["blocks.0.ln1.hook_scale_grad"] != ""
    assert "unembed.b_U" in found.aside


def _first_norm(trace: Trace) -> str:
    return next(path for path in trace if path.endswith(("norm_1.rstd", "norm_1.rrms")))


class _Readable(dict[str, Any]):
    """A trace whose copies are reached by `in` too."""

    def __init__(self, trace: Trace) -> None:
        super().__init__({path: trace[path] for value in trace.manifest.values
                          for path in (value.path, *value.also)})  # fmt: skip


def test_the_names_of_transformer_lens_of_a_masked_model(tmp_path: Path) -> None:
    trace = drawn("bert")
    arrays = {
        "embed.embed.W_E": trace["embedding.table"],
        "embed.token_type_embed.W_token_type": trace["type_embedding.table"],
        "embed.ln.w": trace["norm.gamma"],
        "hook_full_embed": trace["norm.out"],
        "blocks.0.hook_resid_mid": trace["blocks.0.norm_1.x"],
        "blocks.0.hook_normalized_resid_post": trace["blocks.0.norm_2.out"],
        "mlm_head.W": trace["head.w"].T,
        "mlm_head.W_grad": trace["head.d_w"].T,
        "mlm_head.ln.b": trace["head.norm.beta"],
        "unembed.W_U": trace["embedding.table"].T,
        "unembed.b_U": trace["head.bias"],
        "pooler.W": np.ones(3),
    }
    found = matched(arrays, trace, tmp_path)
    assert len(found.found) == 10
    assert {*found.aside} == {"pooler.W"}
    assert not found.unknown
    agree(found, trace)


@pytest.mark.parametrize(("prefix", "ending"), [("d", ""), ("", "_grad"), ("", ".grad")])
def test_the_names_of_llm_c(prefix: str, ending: str, tmp_path: Path) -> None:
    trace = drawn("gpt2")
    found = matched(llm_c(_Readable(trace), 2, prefix, ending), trace, tmp_path)
    assert not found.unknown
    assert not found.copies
    agree(found, trace)
    missing = {path.rpartition(".")[2] for path in {*trace} - {*found.found}}
    assert missing == {
        "positions", "mask", "valid", "x_hat", "count", "keep", "d_x", "d_x_hat", "d_x_q", "d_x_k",
        "d_x_v", "d_table", "d_table_lookup", "out", "d_attn_kept", "target", "tokens", "probs",
    } & missing  # fmt: skip
    assert found.found["blocks.1.attention.w_k"].axes == ("j", "i")
    assert found.found["blocks.0.attention.v"].axes == ("b", "t", "(h c)")
    assert found.found["blocks.1.attention.d_q"].called == f"{prefix}qkv{ending}"


def test_a_stack_of_another_number_of_layers_stays_as_it_is(tmp_path: Path) -> None:
    trace = drawn("gpt2")
    found = matched({"ln1": np.ones((3, 2, 5, 16)), "att": np.array(1.0)}, trace, tmp_path)
    assert found.found["blocks.1.norm_1.out"].array.shape == (3, 2, 5, 16)
    assert found.found["blocks.1.attention.attn"].array.shape == ()
    assert "not of the shape" in found.found["blocks.1.norm_1.out"].note


FAMILIES = ["gpt2", "gpt2 untied", "llama", "llama with grouped heads, tied", "bert", "bert untied"]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_names_of_hugging_face(name: str, tmp_path: Path) -> None:
    """Weights and outputs by transformers' own names, gradients by PyTorch's own calculus."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from handformer.weights import hugging_face

    trace = drawn(name)
    hugging_face.save(tmp_path / "model", model(name, np.float64), TOKENIZER)
    kind = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "bert": "BertForMaskedLM"}
    peer = getattr(transformers, kind[name.split(maxsplit=1)[0]]).from_pretrained(
        tmp_path / "model", dtype=torch.float64, attn_implementation="eager"
    )
    peer.eval()
    tokens, targets = torch.tensor(trace["tokens"]), torch.tensor(trace["loss.targets"])
    outputs = peer(
        tokens,
        attention_mask=torch.tensor(trace["valid"]),
        output_hidden_states=True,
        output_attentions=True,
    )
    logits = outputs.logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    arrays = {key: array.detach().numpy() for key, array in peer.state_dict().items()}
    for key, array in peer.named_parameters():
        if array.grad is not None:
            arrays[f"{key}.grad"] = array.grad.numpy()
    arrays["loss"] = loss.detach().numpy()
    found = matched(arrays, trace, tmp_path)
    assert not found.unknown
    assert not found.copies
    rounding = 1e-6 if "llama" in name else 1e-9  # theirs turns by angles in float32
    agree(found, trace, rounding)
    weights = {v.path for v in trace.manifest.values if v.kind in ("weight", "weight_gradient")}
    assert weights <= {*found.found}

    prefix = {"gpt2": "transformer.", "llama": "model.", "bert": "bert."}[name.split(maxsplit=1)[0]]
    short = {key.removeprefix(prefix): array for key, array in arrays.items()}
    assert {*matched(short, trace, tmp_path).found} == {*found.found}

    outputs_of_each = ("hidden_states", outputs.hidden_states), ("attentions", outputs.attentions)
    arrays = {
        f"{key}.{n}": a.detach().numpy()
        for key, all_ in outputs_of_each
        for n, a in enumerate(all_)
    }
    arrays["logits"] = logits.detach().numpy()
    values = matched(arrays, trace, tmp_path)
    assert len(values.found) == len(arrays)
    valid = trace["valid"]  # a padded query looks at whatever: its row is no one's
    for path, theirs in values.found.items():
        rows = valid[:, None].repeat(4, axis=1) if path.endswith("attn") else valid
        assert_allclose(theirs.array[rows], trace[path][rows], atol=rounding, err_msg=path)


def test_old_names_of_norms_and_buffers(tmp_path: Path) -> None:
    trace = drawn("bert")
    old = "bert.encoder.layer.1.attention.output.LayerNorm.gamma"
    arrays = {old: trace["blocks.1.norm_1.gamma"], "bert.embeddings.position_ids": np.arange(8),
              "bert.pooler.dense.weight": np.ones((2, 2))}  # fmt: skip
    found = matched(arrays, trace, tmp_path)
    assert {*found.found} == {"blocks.1.norm_1.gamma"}
    assert len(found.aside) == 2


def test_our_own_names_with_the_endings_of_others(tmp_path: Path) -> None:
    trace = drawn("gpt2")
    arrays = {"blocks.0.attention.q.grad": trace["blocks.0.attention.d_q"],
              "norm.gamma_grad": trace["norm.d_gamma"]}  # fmt: skip
    found = matched(arrays, trace, tmp_path)
    assert {*found.found} == {"blocks.0.attention.d_q", "norm.d_gamma"}
    agree(found, trace)


def test_slashes_are_dots(tmp_path: Path) -> None:
    trace = drawn("gpt2")
    found = matched({"blocks/0/attention/q": trace["blocks.0.attention.q"]}, trace, tmp_path)
    assert {*found.found} == {"blocks.0.attention.q"}
