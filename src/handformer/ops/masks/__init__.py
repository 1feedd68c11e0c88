"""Masks: which key each query may see. True means visible; a mask is never added to anything.

Each is a module with `forward`; several hold at once with `combine`. The head axis is the layer's
to insert: `mask[..., None, :, :]`.
"""

from functools import reduce

import numpy as np

from handformer.axes import BoolArray
from handformer.ops.masks import causal, padding, window

__all__ = ["causal", "combine", "padding", "window"]


def combine(*masks: BoolArray) -> BoolArray:
    """Visible where every one of the masks, broadcast against the others, says so."""
    return reduce(np.logical_and, masks)
