"""LayerNorm, forward and backward, as handformer calls it.

    handformer check --op layer_norm --with layer_norm.py:forward
    handformer check --op layer_norm --direction backward --with layer_norm.py:backward

A function that names its parameters as the op does is called by name; any other in the op's order.
It returns the values in the op's order, or a dict of some of them, or the output `y` alone.
"""

import numpy as np


def forward(x, gamma, beta, eps):
    """y alone: handformer works out mean, rstd and x_hat itself."""
    centered = x - x.mean(axis=-1, keepdims=True)
    y = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + np.float32(eps)) * gamma
    return y if beta is None else y + beta


def backward(d_y, gamma, beta, rstd, x_hat):
    """Some of the gradients, by name."""
    d_x_hat = d_y * gamma
    along = (d_x_hat * x_hat).mean(axis=-1, keepdims=True)
    d_x = d_x_hat - d_x_hat.mean(axis=-1, keepdims=True) - x_hat * along
    return {"d_x_hat": d_x_hat, "d_x": d_x * rstd[..., None]}
