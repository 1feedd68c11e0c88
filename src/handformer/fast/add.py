"""A sum of arrays: NumPy's own loop, into memory that is used again."""

import numpy as np

from handformer.axes import Array
from handformer.fast.compiled import empty_like, known
from handformer.ops import add as plain


def forward(x: Array, z: Array, more: Array | None = None) -> Array:
    """y of the shape that x, z and more (or None) have."""
    if not known(x, z, more) or x.shape != z.shape:
        return plain.forward(x, z, more)
    y = np.add(x, z, out=empty_like(x))
    return y if more is None else np.add(y, more, out=y)
