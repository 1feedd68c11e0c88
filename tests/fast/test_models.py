"""Fast equals plain for whole layers and models: every value by path, both directions, both dtypes.

As for ops, the bound is what rounding explains: how far the values move in float64 when weights and
inputs are rounded otherwise.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from handformer import fast, tree
from handformer.selfcheck.cases.layers import layers
from handformer.selfcheck.cases.models import models
from handformer.selfcheck.layers import Arrays, LayerCase, run

LAYERS = layers(np.random.default_rng(5), ((2, 3), ()))
MODELS = models(np.random.default_rng(6))
every_case = pytest.mark.parametrize("case", [*LAYERS, *MODELS], ids=lambda case: case.name)


def values(case: LayerCase) -> Arrays:
    return run(case, np.random.default_rng(1)).values


def moved(case: LayerCase, eps: float, seed: int) -> Arrays:
    """The values where every weight and floating input is rounded up or down."""
    rng = np.random.default_rng(seed)

    def change(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
            return array
        return array * (1 + eps * rng.choice([-1, 1], size=array.shape))

    inputs = {name: change(part) for name, part in case.inputs.items()}
    layer = tree.transform(case.layer, lambda _, array: change(array))
    return values(replace(case, layer=layer, inputs=inputs))


@every_case
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fast_equals_plain(case: LayerCase, dtype: Any) -> None:
    case = case.cast(dtype)
    found, wide = values(replace(case, ops=fast)), case.cast(np.float64)
    right, eps = values(wide), float(np.finfo(dtype).eps)
    others = [moved(wide, eps, seed) for seed in range(6)]
    assert found.keys() == right.keys()
    for name, value in right.items():
        assert found[name].dtype == (dtype if value.dtype.kind == "f" else value.dtype), name
        if value.dtype.kind != "f":
            assert np.array_equal(found[name], value), name
            continue
        spread = np.max([np.abs(other[name] - value) for other in others], axis=0)
        # d_b_k is 0 whatever its many terms are, and they are as large as those of d_w_k.
        scale = 8 * np.abs(value).max(initial=0)
        if name.endswith("d_b_k"):
            scale = 64 * np.abs(right[name.replace("d_b_k", "d_w_k")]).max()
        allowed = 6 * (spread + spread.mean()) + scale * eps
        assert (np.abs(found[name] - value) <= allowed).all(), name
