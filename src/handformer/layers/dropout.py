"""Dropout as a layer: its mask is a value like any other."""

from types import ModuleType

import handformer.ops as plain
from handformer.axes import Array, BoolArray, record
from handformer.layers.layer import Layer
from handformer.ops import dropout
from handformer.ops.drops import NO_DROPOUT, Drops


@record
class DropoutCache:
    """x, keep, out of one shape; rate is this pass's: 0 when nothing is dropped, and then out is x
    itself.
    """

    x: Array
    keep: BoolArray
    rate: float
    out: Array


@record
class DropoutBack:
    """The gradient of the input."""

    d_out: Array
    d_x: Array


@record
class Dropout(Layer):
    """Each entry is dropped with probability `rate`, the others grow by 1/(1 - rate).

    Source: Srivastava et al. 2014; the scaling at training time ("inverted") keeps the mean.
    """

    rate: float = 0.0

    FORMULAS = dropout.FORMULAS.rename(b="b t i", y="out")

    def forward(
        self, x: Array, *, drop: Drops = NO_DROPOUT, ops: ModuleType = plain
    ) -> tuple[Array, DropoutCache]:
        """out of the shape of x; `drop` draws the mask, NO_DROPOUT keeps everything."""
        rate = drop.rate(self.rate)
        keep = drop.keep(x.shape, rate)
        out = ops.dropout.forward(x, keep, rate)
        return out, DropoutCache(x, keep, rate, out)

    def backward(
        self, d_out: Array, cache: DropoutCache, *, ops: ModuleType = plain
    ) -> DropoutBack:
        """d_x from d_out."""
        return DropoutBack(d_out, ops.dropout.backward(d_out, cache.keep, cache.rate))
