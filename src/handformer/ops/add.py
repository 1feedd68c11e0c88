"""A sum of two or three arrays of one shape: where ways meet.

Forward    y = x + z + more. On the way there it joins a residual stream and a part's output; on
           the way back the gradients of a value that was used twice.
Backward   each term's gradient is the sum's, so there is nothing to compute.
Kept       nothing.
Source     He et al. 2016, "Deep residual learning", equation 1 (for the residual stream).
"""

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("y[b] = x[b] + z[b] + more[b]")


def forward(x: Array, z: Array, more: Array | None = None) -> Array:
    """y of the shape that x, z and more (or None) have."""
    return x + z if more is None else x + z + more
