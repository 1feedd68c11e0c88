"""How a model's weights are kept while it writes: in how many bits, and in which order.

A step of generation reads every matrix once and does little with it, so it is as fast as the
weights come from memory: half the bits, half the time. Only matrices are kept in 16 bits; what
gives a layer its scale and offset is small, and stays in float32, and so does all arithmetic.

Order    the weights of one output stand side by side (a matrix (in, out) is a transposed view), as
         single-row products read them best. A table's rows are looked up, and stay rows.
Source   Micikevicius et al. 2018, "Mixed precision training" (float16); Kalamkar et al. 2019
         (bfloat16).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

from handformer import tree
from handformer.axes import Array
from handformer.errors import InputError
from handformer.models import Model

DTYPES: dict[str, Any] = {
    "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16,
}  # fmt: skip
Kept = TypeVar("Kept", bound=Model)


def kept_in(model: Kept, weights: str) -> Kept:
    """The model with its matrices in float32, bfloat16 or float16, and all else in float32.

    Such a model computes in float32, and its gradients are float32 too; it is for reading, not for
    training: an update in 16 bits would mostly be rounded away.

    Raises
    ------
    InputError
        for another name, and for a weight beyond float16's range, whose largest number is 65504
    """
    if weights not in DTYPES:
        raise InputError(f"weights {weights!r}: expected one of {', '.join(DTYPES)}")
    return tree.transform(model, _change(weights))


def _change(weights: str) -> Callable[[str, Array], Array]:
    def change(path: str, array: Array) -> Array:
        if array.ndim < 2:
            return array.astype(np.float32)
        table = path.rpartition(".")[2] == "table"
        with np.errstate(over="ignore"):
            kept = array.astype(DTYPES[weights], order="C" if table else "F")
        if weights == "float16" and not np.isfinite(kept).all() and np.isfinite(array).all():
            raise InputError(
                f"{path} holds {np.abs(array).max():g}, beyond float16's range; take bfloat16"
            )
        return kept

    return change
