"""Root-mean-square normalisation: each row scaled to mean square 1, then by a learned scale.

Forward    LayerNorm without the shift: x_hat = x rrms with rrms = 1 / sqrt(mean(x^2) + eps).
Backward   that of LayerNorm without the mean's term: d_x_hat loses its part along x_hat, because
           stretching a row changes nothing, and what is left is scaled by rrms.
Kept       x_hat and rrms.
Source     Zhang, Sennrich 2019, equation 4.
"""

from typing import NamedTuple

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.ops import layer_norm

FORMULAS = (
    Sheet.parse("""
        rrms[b]    = 1 / sqrt(mean(i, x[b,i] ** 2) + eps)
        x_hat[b,i] = x[b,i] * rrms[b]
        d_x[b,i]   = rrms[b] * (d_x_hat[b,i] - x_hat[b,i] * mean(j, d_x_hat[b,j] * x_hat[b,j]))
    """)
    + layer_norm.FORMULAS.without("beta").only("y", "d_x_hat", "d_gamma")
).order("rrms x_hat y d_x_hat d_x d_gamma")


class Forward(NamedTuple):
    """rrms (...), x_hat and y (..., d_model)."""

    rrms: Array
    x_hat: Array
    y: Array


class Backward(NamedTuple):
    """d_x_hat and d_x (..., d_model), d_gamma (d_model)."""

    d_x_hat: Array
    d_x: Array
    d_gamma: Array


def forward(x: Array, gamma: Array, eps: float) -> Forward:
    """Normalise x (..., d_model), then scale by gamma (d_model)."""
    rrms = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    x_hat = x * rrms
    return Forward(rrms[..., 0], x_hat, x_hat * gamma)


def backward(d_y: Array, gamma: Array, rrms: Array, x_hat: Array) -> Backward:
    """Gradients of x and gamma from d_y (..., d_model)."""
    d_x_hat = d_y * gamma
    along = (d_x_hat * x_hat).mean(axis=-1, keepdims=True)
    d_x = rrms[..., None] * (d_x_hat - x_hat * along)
    d_gamma = (d_y * x_hat).reshape(-1, x_hat.shape[-1]).sum(axis=0)
    return Backward(d_x_hat, d_x, d_gamma)
