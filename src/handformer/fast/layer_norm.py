"""Layer normalisation, compiled: a row is read once from memory, and the rest happens in cache."""

from math import sqrt

import numpy as np

from handformer.axes import Array
from handformer.fast.compiled import alike, compiled, empty_like, known, rows
from handformer.fast.memory import empty
from handformer.ops import layer_norm as plain
from handformer.ops.layer_norm import Backward, Forward


@compiled
def _forward(
    x: Array, gamma: Array, beta: Array | None, eps: float,
    mean: Array, rstd: Array, x_hat: Array, y: Array,
) -> None:  # fmt: skip
    kind = x.dtype.type
    width = x.shape[1]
    share = kind(1) / kind(width)
    for row in range(x.shape[0]):
        total = kind(0)
        for i in range(width):
            total += x[row, i]
        middle = total * share
        squares = kind(0)
        for i in range(width):
            away = x[row, i] - middle
            squares += away * away
        scale = kind(1) / kind(sqrt(squares * share + kind(eps)))
        mean[row], rstd[row] = middle, scale
        for i in range(width):
            hat = (x[row, i] - middle) * scale
            x_hat[row, i] = hat
            y[row, i] = hat * gamma[i] if beta is None else hat * gamma[i] + beta[i]


@compiled
def _backward(
    d_y: Array, gamma: Array, rstd: Array, x_hat: Array,
    d_x_hat: Array, d_x: Array, d_gamma: Array, d_beta: Array | None,
) -> None:  # fmt: skip
    kind = x_hat.dtype.type
    width = x_hat.shape[1]
    share = kind(1) / kind(width)
    d_gamma[:] = kind(0)
    if d_beta is not None:
        d_beta[:] = kind(0)
    for row in range(x_hat.shape[0]):
        total, along = kind(0), kind(0)
        for i in range(width):
            here = d_y[row, i] * gamma[i]
            d_x_hat[row, i] = here
            total += here
            along += here * x_hat[row, i]
        total, along = total * share, along * share
        for i in range(width):
            d_x[row, i] = rstd[row] * (d_x_hat[row, i] - total - x_hat[row, i] * along)
            d_gamma[i] += d_y[row, i] * x_hat[row, i]
        if d_beta is not None:
            for i in range(width):
                d_beta[i] += d_y[row, i]


def forward(x: Array, gamma: Array, beta: Array | None, eps: float) -> Forward:
    """Normalise x (..., d_model), scale by gamma (d_model), shift by beta (d_model) or None."""
    if not (known(x, gamma, beta) and _fits(x, gamma, beta)):
        return plain.forward(x, gamma, beta, eps)
    mean, rstd = empty(x.shape[:-1], x.dtype), empty(x.shape[:-1], x.dtype)
    x_hat, y = empty_like(x), empty_like(x)
    shift = None if beta is None else np.ascontiguousarray(beta)
    _forward(
        rows(x), np.ascontiguousarray(gamma), shift, eps,
        mean.reshape(-1), rstd.reshape(-1), rows(x_hat), rows(y),
    )  # fmt: skip
    return Forward(mean, rstd, x_hat, y)


def backward(d_y: Array, gamma: Array, beta: Array | None, rstd: Array, x_hat: Array) -> Backward:
    """Gradients of x, gamma and beta from d_y (..., d_model)."""
    if not (alike(d_y, x_hat) and known(d_y, gamma, beta, rstd) and _fits(d_y, gamma, beta)):
        return plain.backward(d_y, gamma, beta, rstd, x_hat)
    d_x_hat, d_x, d_gamma = empty_like(d_y), empty_like(d_y), empty_like(gamma)
    d_beta = None if beta is None else empty_like(beta)
    _backward(
        rows(d_y), np.ascontiguousarray(gamma), np.ascontiguousarray(rstd).reshape(-1),
        rows(x_hat), rows(d_x_hat), rows(d_x), d_gamma, d_beta,
    )  # fmt: skip
    return Backward(d_x_hat, d_x, d_gamma, d_beta)


def _fits(x: Array, *weights: Array | None) -> bool:
    return all(w is None or w.shape == x.shape[-1:] for w in weights)
