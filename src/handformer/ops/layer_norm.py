"""Layer normalisation: each row brought to mean 0 and variance 1, then scaled and shifted.

Forward    x_hat = (x - mean) rstd with rstd = 1 / sqrt(variance + eps): the variance is the mean of
           the squared distances (divided by the width, not by one less); eps stands under the root.
Backward   every x_i moves its row's mean and variance, and so all of x_hat. Summed, that takes out
           of d_x_hat its mean and its part along x_hat; what is left is scaled by rstd. So without
           eps, d_x is orthogonal to 1 and to x_hat: shifting or stretching a row changes nothing.
Kept       x_hat and rstd: x itself isn't needed again.
Delicate   the mean is taken out before squaring: mean(x^2) - mean(x)^2 would lose every digit of a
           row whose spread is small beside its mean.
Source     Ba, Kiros, Hinton 2016, equation 3; section 5 for what changes nothing.
"""

from typing import NamedTuple

import numpy as np

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("""
    mean[b]      = mean(i, x[b,i])
    rstd[b]      = 1 / sqrt(mean(i, (x[b,i] - mean[b]) ** 2) + eps)
    x_hat[b,i]   = (x[b,i] - mean[b]) * rstd[b]
    y[b,i]       = x_hat[b,i] * gamma[i] + beta[i]
    d_x_hat[b,i] = d_y[b,i] * gamma[i]
    d_x[b,i]     = rstd[b] * (d_x_hat[b,i] - mean(j, d_x_hat[b,j])
                   - x_hat[b,i] * mean(j, d_x_hat[b,j] * x_hat[b,j]))
    d_gamma[i]   = sum(b, d_y[b,i] * x_hat[b,i])
    d_beta[i]    = sum(b, d_y[b,i])
""")


class Forward(NamedTuple):
    """mean and rstd (...), x_hat and y (..., d_model)."""

    mean: Array
    rstd: Array
    x_hat: Array
    y: Array


class Backward(NamedTuple):
    """d_x_hat and d_x (..., d_model), d_gamma (d_model), d_beta (d_model) or None without beta."""

    d_x_hat: Array
    d_x: Array
    d_gamma: Array
    d_beta: Array | None


def forward(x: Array, gamma: Array, beta: Array | None, eps: float) -> Forward:
    """Normalise x (..., d_model), scale by gamma (d_model), shift by beta (d_model) or None."""
    mean = x.mean(axis=-1, keepdims=True)
    centered = x - mean
    rstd = 1 / np.sqrt((centered * centered).mean(axis=-1, keepdims=True) + eps)
    x_hat = centered * rstd
    y = x_hat * gamma if beta is None else x_hat * gamma + beta
    return Forward(mean[..., 0], rstd[..., 0], x_hat, y)


def backward(d_y: Array, gamma: Array, beta: Array | None, rstd: Array, x_hat: Array) -> Backward:
    """Gradients of x, gamma and beta from d_y (..., d_model)."""
    d_x_hat = d_y * gamma
    along = (d_x_hat * x_hat).mean(axis=-1, keepdims=True)
    d_x = rstd[..., None] * (d_x_hat - d_x_hat.mean(axis=-1, keepdims=True) - x_hat * along)
    width = x_hat.shape[-1]
    return Backward(
        d_x_hat=d_x_hat,
        d_x=d_x,
        d_gamma=(d_y * x_hat).reshape(-1, width).sum(axis=0),
        d_beta=None if beta is None else d_y.reshape(-1, width).sum(axis=0),
    )
