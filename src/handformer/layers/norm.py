"""Normalisation layers: LayerNorm and RMSNorm over the model width."""

from types import ModuleType

import numpy as np

import handformer.ops as plain
from handformer.axes import Array, record
from handformer.layers.layer import Layer
from handformer.ops import layer_norm, rms_norm


@record
class LayerNormCache:
    """x, x_hat, out (..., t, d_model); mean, rstd (..., t)."""

    x: Array
    mean: Array
    rstd: Array
    x_hat: Array
    out: Array


@record
class LayerNormBack:
    """The gradients of x_hat and x (..., t, d_model) and of the weights."""

    d_out: Array
    d_x_hat: Array
    d_x: Array
    params: "LayerNorm"


@record
class LayerNorm(Layer):
    """Each row brought to mean 0 and variance 1, then scaled by gamma and moved by beta.

    gamma and beta have shape (d_model); beta is None in a model without biases.
    """

    gamma: Array
    beta: Array | None
    eps: float = 1e-5

    FORMULAS = layer_norm.FORMULAS.rename(b="b t", y="out")

    @classmethod
    def init(cls, d_model: int, *, eps: float = 1e-5, bias: bool = True) -> "LayerNorm":
        """gamma 1, beta 0: the norm alone."""
        return cls(np.ones(d_model), np.zeros(d_model) if bias else None, eps)

    def forward(self, x: Array, *, ops: ModuleType = plain) -> tuple[Array, LayerNormCache]:
        """out (..., t, d_model) and every value on the way."""
        mean, rstd, x_hat, out = ops.layer_norm.forward(x, self.gamma, self.beta, self.eps)
        return out, LayerNormCache(x, mean, rstd, x_hat, out)

    def backward(
        self, d_out: Array, cache: LayerNormCache, *, ops: ModuleType = plain
    ) -> LayerNormBack:
        """Gradients from d_out (..., t, d_model)."""
        d_x_hat, d_x, d_gamma, d_beta = ops.layer_norm.backward(
            d_out, self.gamma, self.beta, cache.rstd, cache.x_hat
        )
        return LayerNormBack(d_out, d_x_hat, d_x, LayerNorm(d_gamma, d_beta, self.eps))


@record
class RMSNormCache:
    """x, x_hat, out (..., t, d_model); rrms (..., t)."""

    x: Array
    rrms: Array
    x_hat: Array
    out: Array


@record
class RMSNormBack:
    """The gradients of x_hat and x (..., t, d_model) and of the weight."""

    d_out: Array
    d_x_hat: Array
    d_x: Array
    params: "RMSNorm"


@record
class RMSNorm(Layer):
    """Each row brought to mean square 1, then scaled by gamma (d_model)."""

    gamma: Array
    eps: float = 1e-5

    FORMULAS = rms_norm.FORMULAS.rename(b="b t", y="out")

    @classmethod
    def init(cls, d_model: int, *, eps: float = 1e-5) -> "RMSNorm":
        """gamma 1: the norm alone."""
        return cls(np.ones(d_model), eps)

    def forward(self, x: Array, *, ops: ModuleType = plain) -> tuple[Array, RMSNormCache]:
        """out (..., t, d_model) and every value on the way."""
        rrms, x_hat, out = ops.rms_norm.forward(x, self.gamma, self.eps)
        return out, RMSNormCache(x, rrms, x_hat, out)

    def backward(
        self, d_out: Array, cache: RMSNormCache, *, ops: ModuleType = plain
    ) -> RMSNormBack:
        """Gradients from d_out (..., t, d_model)."""
        d_x_hat, d_x, d_gamma = ops.rms_norm.backward(d_out, self.gamma, cache.rrms, cache.x_hat)
        return RMSNormBack(d_out, d_x_hat, d_x, RMSNorm(d_gamma, self.eps))


Norm = LayerNorm | RMSNorm
NormCache = LayerNormCache | RMSNormCache
NormBack = LayerNormBack | RMSNormBack
