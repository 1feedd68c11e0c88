"""The three model shapes in PyTorch's own words, with autograd's gradient of every value.

Written from the papers and not from handformer, which they are there to be compared with:

GPT-2         Radford et al. 2019, "Language models are unsupervised multitask learners"
Llama 2       Touvron et al. 2023; Zhang, Sennrich 2019 (RMSNorm), Shazeer 2020 (SwiGLU),
              Su et al. 2021 (rotary positions), Ainslie et al. 2023 (grouped heads)
BERT          Devlin et al. 2018
transformer   Vaswani et al. 2017, "Attention is all you need"

Only the paths of the parameters are handformer's, and their layout: weights are (in, out), head h
owns columns h*d_k to (h+1)*d_k - 1, query head h reads key head h // (n_heads / n_kv_heads).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tests.peers.cases import IGNORED, Case, Config
from tests.peers.golden import Arrays, Golden

# The arrays are tiny, and the order of a sum must not depend on the number of cores.
torch.set_num_threads(1)

Params = Mapping[str, Tensor]
Note = Callable[[str, Tensor], Tensor]  # keeps a value under its path and hands it back


def unnoted(_path: str, tensor: Tensor) -> Tensor:
    return tensor


@dataclass(frozen=True)
class Place:
    """A place in a model: its parameters by their last name, and where its values are noted."""

    params: Params
    cfg: Config
    note_at: Note
    path: str = ""

    def at(self, name: str) -> "Place":
        return replace(self, path=f"{self.path}{name}.")

    def __getitem__(self, name: str) -> Tensor:
        return self.params[self.path + name]

    def get(self, name: str) -> Tensor | None:
        return self.params.get(self.path + name)

    def note(self, name: str, tensor: Tensor) -> Tensor:
        return self.note_at(self.path + name, tensor)


def decoder(
    params: Params,
    tokens: Tensor,
    cfg: Config,
    *,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
    note: Note = unnoted,
) -> Tensor:
    """GPT-2 or Llama: tokens (b, t) to logits (b, t, n).

    A query sees the valid keys (b, s) that aren't later. Positions (b, t) default to 0, 1, 2 ...
    """
    model = Place(params, cfg, note)
    time = tokens.shape[1]
    positions = torch.arange(time).expand_as(tokens) if positions is None else positions
    x = functional.embedding(tokens, model["embedding.table"])
    turn = None
    if cfg.family == "gpt2":
        x = x + functional.embedding(positions, model["position_embedding.table"])
    else:
        turn = rotation(positions, cfg)
    allowed = causal(time) & keys(valid)
    for layer in range(cfg.n_layers):
        block = model.at(f"blocks.{layer}")
        y = norm(block.at("norm_1"), x)
        mid = block.note("mid", x + attention(block.at("attention"), y, y, allowed, turn))
        y = norm(block.at("norm_2"), mid)
        x = block.note("out", mid + mlp(block.at("mlp"), y))
    y = norm(model.at("norm"), x)
    return y @ (model["embedding.table"].T if cfg.tied else model["head.w"])


def encoder(
    params: Params,
    tokens: Tensor,
    cfg: Config,
    *,
    types: Tensor | None = None,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
    note: Note = unnoted,
) -> Tensor:
    """BERT with its masked-token head: tokens and their types (b, t) to logits (b, t, n)."""
    model = Place(params, cfg, note)
    types = torch.zeros_like(tokens) if types is None else types
    x = functional.embedding(tokens, model["embedding.table"])
    x = x + functional.embedding(types, model["type_embedding.table"])
    positions = torch.arange(tokens.shape[1]) if positions is None else positions
    x = x + model["position_embedding.table"][positions]
    x = norm(model.at("norm"), x)
    for layer in range(cfg.n_layers):
        x = encoder_block(model.at(f"blocks.{layer}"), x, keys(valid))
    head = model.at("head")
    y = norm(head.at("norm"), functional.gelu(linear(x, head["w"], head["b"])))
    return linear(y, model["embedding.table"].T if cfg.tied else head["w_out"], head["bias"])


def encoder_decoder(
    params: Params,
    source_tokens: Tensor,
    target_tokens: Tensor,
    cfg: Config,
    *,
    source_valid: Tensor | None = None,
    target_valid: Tensor | None = None,
    source_positions: Tensor | None = None,
    target_positions: Tensor | None = None,
    note: Note = unnoted,
) -> Tensor:
    """The Transformer of 2017: source (b, s) and target (b, t) to logits (b, t, n)."""
    model = Place(params, cfg, note)
    target_table = model["target_embedding.table"]

    def embed(tokens: Tensor, table: Tensor, positions: Tensor | None) -> Tensor:
        waves = sinusoids(tokens.shape[1], cfg.d_model)
        waves = waves if positions is None else waves[positions]
        return functional.embedding(tokens, table) * sqrt(cfg.d_model) + waves

    source_table = target_table if cfg.shared else model["source_embedding.table"]
    x = embed(source_tokens, source_table, source_positions)
    for layer in range(cfg.n_layers):
        x = encoder_block(model.at(f"encoder.{layer}"), x, keys(source_valid))
    source = x

    x = embed(target_tokens, target_table, target_positions)
    allowed = causal(target_tokens.shape[1]) & keys(target_valid)
    for layer in range(cfg.n_layers):
        block = model.at(f"decoder.{layer}")
        x = norm(block.at("norm_1"), x + attention(block.at("attention"), x, x, allowed))
        y = attention(block.at("cross"), x, source, keys(source_valid))
        x = norm(block.at("norm_2"), x + y)
        x = norm(block.at("norm_3"), x + mlp(block.at("mlp"), x))
    return x @ (target_table.T if cfg.tied else model["head.w"])


def encoder_block(block: Place, x: Tensor, allowed: Tensor) -> Tensor:
    """Post-norm, as in BERT and in the encoder of 2017."""
    x = norm(block.at("norm_1"), x + attention(block.at("attention"), x, x, allowed))
    return norm(block.at("norm_2"), x + mlp(block.at("mlp"), x))


def attention(
    here: Place, x: Tensor, source: Tensor, allowed: Tensor, turn: Tensor | None = None
) -> Tensor:
    """Queries of x (b, t, i), keys and values of source (b, s, i), allowed (b or 1, 1, t or 1, s).

    A query that sees no key gets a context of zeros, and no gradient flows through its weights.
    """
    cfg = here.cfg

    def project(letter: str, y: Tensor, heads: int) -> Tensor:
        y = linear(y, here[f"w_{letter}"], here.get(f"b_{letter}"))
        return here.note(letter, y.unflatten(-1, (heads, cfg.d_k)).transpose(1, 2))

    q = project("q", x, cfg.n_heads)
    k = project("k", source, cfg.n_kv_heads)
    v = project("v", source, cfg.n_kv_heads)
    if turn is not None:
        q = here.note("q_rotated", rotate(q, turn))
        k = here.note("k_rotated", rotate(k, turn))
    group = cfg.n_heads // cfg.n_kv_heads
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = here.note("scores", q @ k.mT / sqrt(cfg.d_k))
    some = allowed.any(dim=-1, keepdim=True)
    attn = scores.masked_fill(~allowed & some, -inf).softmax(dim=-1).masked_fill(~some, 0.0)
    attn = here.note("attn", attn)
    context = here.note("context", attn @ v)
    out = linear(context.transpose(1, 2).flatten(-2), here["w_o"], here.get("b_o"))
    return here.note("out", out)


def mlp(here: Place, x: Tensor) -> Tensor:
    up = linear(x, here["w_up"], here.get("b_up"))
    if here.cfg.family == "llama":
        hidden = functional.silu(x @ here["w_gate"]) * up
    elif here.cfg.family == "transformer":
        hidden = functional.relu(up)
    else:
        approximate = "tanh" if here.cfg.family == "gpt2" else "none"
        hidden = functional.gelu(up, approximate=approximate)
    return here.note("out", linear(hidden, here["w_down"], here.get("b_down")))


def norm(here: Place, x: Tensor) -> Tensor:
    width, eps = x.shape[-1:], here.cfg.eps
    if here.cfg.family == "llama":
        return here.note("out", functional.rms_norm(x, width, here["gamma"], eps))
    return here.note("out", functional.layer_norm(x, width, here["gamma"], here["beta"], eps))


def linear(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    return functional.linear(x, w.T, b)


def rotation(positions: Tensor, cfg: Config) -> Tensor:
    """Unit complex numbers (b, 1, t, d_k / 2): how far each pair of channels is turned."""
    pair = torch.arange(cfg.d_k // 2, dtype=torch.float64)
    angles = positions[:, None, :, None] * cfg.rope_base ** (-2 * pair / cfg.d_k)
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Channel c and channel c + d_k / 2 are the real and the imaginary part of one number."""
    turned = torch.complex(*x.chunk(2, dim=-1)) * turn
    return torch.cat([turned.real, turned.imag], dim=-1)


def sinusoids(time: int, d_model: int) -> Tensor:
    """Positions (time, d_model): even channels sine, odd ones cosine (2017, section 3.5)."""
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = torch.outer(torch.arange(time, dtype=torch.float64), 10000.0 ** (-even / d_model))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model]


def causal(time: int) -> Tensor:
    return torch.ones(1, 1, time, time, dtype=torch.bool).tril()


def keys(valid: Tensor | None) -> Tensor:
    """valid (b, s) as a mask over (b, h, t, s); all keys where there is none."""
    return torch.ones(1, 1, 1, 1, dtype=torch.bool) if valid is None else valid[:, None, None, :]


MODELS = {"gpt2": decoder, "llama": decoder, "bert": encoder, "transformer": encoder_decoder}


def loss_and_gradients(
    model_fn: Callable[..., Tensor],
    params: Arrays,
    inputs: Arrays,
    targets: NDArray[np.int64],
    cfg: Config,
) -> tuple[NDArray[np.float64], float, Arrays, Arrays]:
    """Run a model and autograd on it, in float64: (logits, loss, grads by path, values by path).

    The loss is the mean cross-entropy over the targets that aren't ``IGNORED``. The values are the
    noted intermediates and, with ``d_`` before the last name of the path, their gradients.
    """
    leaves = {
        path: torch.tensor(array, dtype=torch.float64, requires_grad=True)
        for path, array in params.items()
    }
    noted: dict[str, Tensor] = {}

    def note(path: str, tensor: Tensor) -> Tensor:
        assert path not in noted, path
        tensor.retain_grad()
        noted[path] = tensor
        return tensor

    tensors = {name: torch.tensor(array) for name, array in inputs.items()}
    logits = note("logits", model_fn(leaves, **tensors, cfg=cfg, note=note))
    loss = functional.cross_entropy(
        logits.flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=IGNORED
    )
    loss.backward()
    grads = {path: gradient(leaf) for path, leaf in leaves.items()}
    values = {path: tensor.detach().numpy() for path, tensor in noted.items()}
    for path, tensor in noted.items():
        place, dot, name = path.rpartition(".")
        values[f"{place}{dot}d_{name}"] = gradient(tensor)
    return values["logits"], loss.item(), grads, values


def gradient(tensor: Tensor) -> NDArray[np.float64]:
    assert tensor.grad is not None, "a value that the loss doesn't depend on"
    return tensor.grad.numpy()


def compute(case: Case) -> Golden:
    """A case with everything that these models compute for it."""
    params, inputs, targets = case.params(), case.inputs(), case.targets()
    model_fn = MODELS[case.config.family]
    logits, loss, grads, values = loss_and_gradients(model_fn, params, inputs, targets, case.config)
    return Golden(case.name, case.config, params, inputs, targets, logits, loss, grads, values)
