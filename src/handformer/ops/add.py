"""A sum of two arrays of one shape: where two ways meet.

Forward    y = x + z. On the way there it joins a residual stream and a part's output; on the way
           back the gradients of a value that was used twice.
Backward   each term's gradient is the sum's, so there is nothing to compute.
Kept       nothing.
Source     He et al. 2016, "Deep residual learning", equation 1 (for the residual stream).
"""

from handformer.axes import Array
from handformer.formula import Sheet

FORMULAS = Sheet.parse("y[b] = x[b] + z[b]")


def forward(x: Array, z: Array) -> Array:
    """y of the shape that x and z have."""
    return x + z
