"""What others would write of the same computation: their names, shapes and orders of axes.

Each is written out by hand from a trace's numbers, with NumPy's plainest means.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

Arrays = dict[str, Any]


def lens(trace: Mapping[str, Any], n_layers: int, heads: int, groups: int) -> Arrays:
    """TransformerLens' hooks and parameters of GPT-2 or Llama, and their gradients."""
    wrote: Arrays = {"hook_embed": trace["embedding.out"], "embed.W_E": trace["embedding.table"]}
    wrote["embed.W_E_grad"] = trace["embedding.d_table_lookup"]
    if "position_embedding.out" in trace:
        wrote["hook_pos_embed"] = trace["position_embedding.out"]
        wrote["pos_embed.W_pos"] = trace["position_embedding.table"]
    if "head.table" in trace:
        wrote["unembed.W_U"] = trace["embedding.table"].T
        wrote["unembed.W_U_grad"] = trace["head.d_table"].T
    else:
        wrote["unembed.W_U"] = trace["head.w"]
        wrote["unembed.W_U_grad"] = trace["head.d_w"]
    wrote["unembed.b_U"] = np.zeros(trace["head.out"].shape[-1])
    wrote["ln_final.hook_normalized"] = trace["norm.x_hat"]
    wrote["ln_final.hook_scale"] = divisor(trace, "norm")
    wrote["ln_final.w"] = trace["norm.gamma"]
    for layer in range(n_layers):
        ours, theirs = f"blocks.{layer}.", f"blocks.{layer}."
        a = ours + "attention."
        for d, grad in (("", ""), ("d_", "_grad")):
            wrote |= {
                f"{theirs}hook_resid_pre{grad}": trace[f"{ours}{d}x"],
                f"{theirs}hook_attn_out{grad}": trace[f"{a}{d}out"],
                f"{theirs}hook_resid_mid{grad}": trace[f"{ours}{d}mid"],
                f"{theirs}hook_mlp_out{grad}": trace[f"{ours}mlp.{d}out"],
                f"{theirs}hook_resid_post{grad}": trace[f"{ours}{d}out"],
                f"{theirs}ln1.hook_normalized{grad}": trace[f"{ours}norm_1.{d}x_hat"],
                f"{theirs}ln2.hook_normalized{grad}": trace[f"{ours}norm_2.{d}x_hat"],
                f"{theirs}ln2.w{grad}": trace[f"{ours}norm_2.{d}gamma"],
                f"{theirs}attn.hook_pattern{grad}": trace[f"{a}{d}attn"],
                f"{theirs}mlp.hook_post{grad}": trace[f"{ours}mlp.{d}post"],
                f"{theirs}mlp.W_in{grad}": trace[f"{ours}mlp.{d}w_up"],
                f"{theirs}mlp.W_out{grad}": trace[f"{ours}mlp.{d}w_down"],
            }
            wrote[f"{theirs}attn.hook_z{grad}"] = heads_last(trace[f"{a}{d}context"])
            for letter, count in (("q", heads), ("k", groups), ("v", groups)):
                wrote[f"{theirs}attn.hook_{letter}{grad}"] = heads_last(trace[f"{a}{d}{letter}"])
                if f"{a}{letter}_rot" in trace:
                    turned = trace[f"{a}{d}{letter}_rot"]
                    wrote[f"{theirs}attn.hook_rot_{letter}{grad}"] = heads_last(turned)
                name = f"W_{letter.upper()}"
                hidden = "_" if count != heads else ""
                wrote[f"{theirs}attn.{hidden}{name}{grad}"] = np.stack(
                    np.split(trace[f"{a}{d}w_{letter}"], count, axis=1)
                )
                if f"{a}b_{letter}" in trace:
                    wrote[f"{theirs}attn.b_{letter.upper()}{grad}"] = np.stack(
                        np.split(trace[f"{a}{d}b_{letter}"], count)
                    )
            wrote[f"{theirs}attn.W_O{grad}"] = np.stack(np.split(trace[f"{a}{d}w_o"], heads))
        scores = np.where(trace[f"{a}mask"], trace[f"{a}scores"], -np.inf)
        wrote[f"{theirs}attn.hook_attn_scores"] = scores
        wrote[f"{theirs}attn.hook_attn_scores_grad"] = trace[f"{a}d_scores"]
        wrote[f"{theirs}ln1.hook_scale"] = divisor(trace, f"{ours}norm_1")
        wrote[f"{theirs}ln1.hook_scale_grad"] = np.ones(3)
        wrote[f"{theirs}attn.mask"] = np.tril(np.ones((8, 8), bool))
        wrote[f"{theirs}attn.IGNORE"] = np.array(-np.inf)
        wrote[f"{theirs}hook_mlp_in"] = trace[f"{ours}mid"]
    return wrote


def heads_last(array: Any) -> Any:
    """(b, h, t, c) as (b, t, h, c)."""
    return np.stack(list(np.moveaxis(array, 1, 0)), axis=2)


def divisor(trace: Mapping[str, Any], norm: str) -> Any:
    name = "rstd" if f"{norm}.rstd" in trace else "rrms"
    return 1 / trace[f"{norm}.{name}"][..., None]


def llm_c(trace: Mapping[str, Any], n_layers: int, prefix: str = "d", ending: str = "") -> Arrays:
    """The arrays of llm.c, GPT-2 only: all layers in one, q, k and v side by side."""

    def stack(path: str) -> Any:
        return np.stack([trace[f"blocks.{layer}.{path}"] for layer in range(n_layers)])

    def merged(path: str) -> Any:  # (L, b, h, t, c) as (L, b, t, h c)
        whole = stack(path)
        return np.concatenate([whole[:, :, h] for h in range(whole.shape[2])], axis=-1)

    def turned(path: str) -> Any:
        return np.stack([one.T for one in stack(path)])

    wrote: Arrays = {}
    for d in ("", "d_"):
        before, after = (prefix, ending) if d else ("", "")
        part: Arrays = {
            "encoded": trace[f"{d}x"],
            "qkv": np.concatenate([merged(f"attention.{d}{x}") for x in "qkv"], axis=-1),
            "atty": merged(f"attention.{d}context"),
            "att": stack(f"attention.{d}attn"),
            "attproj": stack(f"attention.{d}out"),
            "residual2": stack(f"{d}mid"),
            "fch": stack(f"mlp.{d}pre"),
            "fch_gelu": stack(f"mlp.{d}post"),
            "fcproj": stack(f"mlp.{d}out"),
            "residual3": stack(f"{d}out"),
            "ln1": stack(f"norm_1.{d}out"),
            "ln2": stack(f"norm_2.{d}out"),
            "lnf": trace[f"norm.{d}out"],
            "ln1w": stack(f"norm_1.{d}gamma"),
            "ln1b": stack(f"norm_1.{d}beta"),
            "ln2w": stack(f"norm_2.{d}gamma"),
            "ln2b": stack(f"norm_2.{d}beta"),
            "qkvw": np.concatenate([turned(f"attention.{d}w_{x}") for x in "qkv"], axis=1),
            "qkvb": np.concatenate([stack(f"attention.{d}b_{x}") for x in "qkv"], axis=1),
            "attprojw": turned(f"attention.{d}w_o"),
            "attprojb": stack(f"attention.{d}b_o"),
            "fcw": turned(f"mlp.{d}w_up"),
            "fcb": stack(f"mlp.{d}b_up"),
            "fcprojw": turned(f"mlp.{d}w_down"),
            "fcprojb": stack(f"mlp.{d}b_down"),
            "lnfw": trace[f"norm.{d}gamma"],
            "lnfb": trace[f"norm.{d}beta"],
            "wte": trace[f"embedding.{d}table"],
            "wpe": trace[f"position_embedding.{d}table"],
            "preatt": stack(f"attention.{d}scores"),
            "logits": trace[f"head.{d}out"],
        }
        wrote |= {f"{before}{name}{after}": array for name, array in part.items()}
    width = wrote["wte"].shape[1]
    wrote["wte"] = np.concatenate([wrote["wte"], np.zeros((5, width))])  # filled up
    wrote["logits"] = np.concatenate([wrote["logits"], wrote["logits"][..., :5]], axis=-1)
    below = np.tril(np.ones((wrote["preatt"].shape[-1],) * 2, bool))
    wrote["preatt"] = np.where(below, wrote["preatt"], 7.0)  # whatever was in memory
    return wrote | {
        "ln1_mean": stack("norm_1.mean"), "ln1_rstd": stack("norm_1.rstd"),
        "ln2_mean": stack("norm_2.mean"), "ln2_rstd": stack("norm_2.rstd"),
        "lnf_mean": trace["norm.mean"], "lnf_rstd": trace["norm.rstd"],
        "probs": trace["loss.probs"], "losses": trace["loss.losses"],
        "mean_loss": trace["loss.loss"], "inputs": trace["tokens"],
        "targets": trace["loss.targets"],
    }  # fmt: skip
