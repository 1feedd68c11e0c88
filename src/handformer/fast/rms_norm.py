"""Root-mean-square normalisation, compiled: as layer_norm, without the mean."""

from math import sqrt

import numpy as np

from handformer.axes import Array
from handformer.fast.compiled import alike, compiled, empty_like, known, rows
from handformer.fast.memory import empty
from handformer.ops import rms_norm as plain
from handformer.ops.rms_norm import Backward, Forward


@compiled
def _forward(x: Array, gamma: Array, eps: float, rrms: Array, x_hat: Array, y: Array) -> None:
    kind = x.dtype.type
    width = x.shape[1]
    share = kind(1) / kind(width)
    for row in range(x.shape[0]):
        squares = kind(0)
        for i in range(width):
            squares += x[row, i] * x[row, i]
        scale = kind(1) / kind(sqrt(squares * share + kind(eps)))
        rrms[row] = scale
        for i in range(width):
            hat = x[row, i] * scale
            x_hat[row, i] = hat
            y[row, i] = hat * gamma[i]


@compiled
def _backward(
    d_y: Array, gamma: Array, rrms: Array, x_hat: Array, d_x_hat: Array, d_x: Array, d_gamma: Array
) -> None:
    kind = x_hat.dtype.type
    width = x_hat.shape[1]
    share = kind(1) / kind(width)
    d_gamma[:] = kind(0)
    for row in range(x_hat.shape[0]):
        along = kind(0)
        for i in range(width):
            here = d_y[row, i] * gamma[i]
            d_x_hat[row, i] = here
            along += here * x_hat[row, i]
        along = along * share
        for i in range(width):
            d_x[row, i] = rrms[row] * (d_x_hat[row, i] - x_hat[row, i] * along)
            d_gamma[i] += d_y[row, i] * x_hat[row, i]


def forward(x: Array, gamma: Array, eps: float) -> Forward:
    """Normalise x (..., d_model), then scale by gamma (d_model)."""
    if not known(x, gamma) or gamma.shape != x.shape[-1:]:
        return plain.forward(x, gamma, eps)
    rrms, x_hat, y = empty(x.shape[:-1], x.dtype), empty_like(x), empty_like(x)
    _forward(rows(x), np.ascontiguousarray(gamma), eps, rrms.reshape(-1), rows(x_hat), rows(y))
    return Forward(rrms, x_hat, y)


def backward(d_y: Array, gamma: Array, rrms: Array, x_hat: Array) -> Backward:
    """Gradients of x and gamma from d_y (..., d_model)."""
    fits = alike(d_y, x_hat) and known(d_y, gamma, rrms)
    if not fits or gamma.shape != d_y.shape[-1:]:
        return plain.backward(d_y, gamma, rrms, x_hat)
    d_x_hat, d_x, d_gamma = empty_like(d_y), empty_like(d_y), empty_like(gamma)
    _backward(
        rows(d_y), np.ascontiguousarray(gamma), np.ascontiguousarray(rrms).reshape(-1),
        rows(x_hat), rows(d_x_hat), rows(d_x), d_gamma,
    )  # fmt: skip
    return Backward(d_x_hat, d_x, d_gamma)
