"""Ops in plain NumPy, right and with one mistake each: `op(*mistakes)` makes the function."""

from typing import Any

import numpy as np

F = np.float32


def softmax(mistake: str = "") -> Any:
    def forward(x: Any) -> Any:
        axis = 0 if mistake == "axis" else -1
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    return forward


def softmax_back(mistake: str = "") -> Any:
    def backward(d_y: Any, y: Any) -> Any:
        if mistake == "diagonal":
            return y * (1 - y) * d_y
        return y * (d_y - (d_y * y).sum(axis=-1, keepdims=True))

    return backward


def layer_norm(mistake: str = "") -> Any:
    def forward(x: Any, gamma: Any, beta: Any, eps: float) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        root = {
            "": np.sqrt(variance + F(eps)),
            "left out": np.sqrt(variance),
            "outside": np.sqrt(variance) + F(eps),
        }[mistake]
        y = centred / root * gamma
        return y if beta is None else y + beta

    return forward


def layer_norm_back(mistake: str = "") -> Any:
    def backward(d_y: Any, gamma: Any, rstd: Any, x_hat: Any) -> Any:
        d_x_hat = d_y * gamma
        mean = 0 if mistake == "mean" else d_x_hat.mean(axis=-1, keepdims=True)
        along = x_hat * (d_x_hat * x_hat).mean(axis=-1, keepdims=True)
        return {"d_x": rstd[..., None] * (d_x_hat - mean - along)}

    return backward


def masked_attention(mistake: str = "") -> Any:
    def forward(q: Any, k: Any, v: Any, mask: Any, bias: Any, keep: Any, rate: float) -> Any:
        heads, d_k = q.shape[-3], q.shape[-1]
        k, v = (np.repeat(part, heads // part.shape[-3], axis=-3) for part in (k, v))
        width = heads * d_k if mistake == "d_model" else d_k
        scores = q @ k.swapaxes(-1, -2) / F(np.sqrt(width)) + (0 if bias is None else bias)
        seen = np.where(mask, scores, F(-np.inf))
        top = seen.max(axis=-1, keepdims=True)
        e = np.where(mask, np.exp(seen - np.where(top == -np.inf, F(0), top)), F(0))
        total = e.sum(axis=-1, keepdims=True)
        attn = e / np.where(total == 0, F(1), total)
        kept = np.where(keep, attn / F(1 - rate), F(0))
        return scores, attn, kept, kept @ v

    return forward


def cross_entropy(mistake: str = "") -> Any:
    def forward(logits: Any, targets: Any, smoothing: float) -> Any:
        x = logits - logits.max(axis=-1, keepdims=True)
        surprise = np.log(np.exp(x).sum(axis=-1, keepdims=True)) - x
        size = logits.shape[-1]
        goal = (targets[..., None] == np.arange(size)) * F(1 - smoothing) + F(smoothing / size)
        losses = np.where(targets == -100, F(0), (goal * surprise).sum(axis=-1))
        count = losses.size if mistake == "all" else max(int((targets != -100).sum()), 1)
        return {"loss": losses.sum() / F(count)}

    return forward


# The op, its direction, what makes it, and for each mistake the row of the catalogue.
ROWS: list[tuple[str, str, Any, dict[str, str]]] = [
    ("softmax", "forward", softmax, {"axis": "SM-1"}),
    ("layer_norm", "forward", layer_norm, {"left out": "NORM-3", "outside": "NORM-2"}),
    ("masked_attention", "forward", masked_attention, {"d_model": "SCALE-1"}),
    ("cross_entropy", "forward", cross_entropy, {"all": "LOSS-5"}),
    ("softmax", "backward", softmax_back, {"diagonal": "BA-1"}),
    ("layer_norm", "backward", layer_norm_back, {"mean": "BN-2"}),
]
