"""Inputs for every op on which mistakes don't go unseen: a module a family, `cases(rng)` in each.

All sizes of a case differ: no two axes can be exchanged. No weight is neutral: gamma isn't 1, beta
and biases aren't 0, targets repeat and some are ignored.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from handformer.selfcheck.cases import activations, attention, loss, positions, rows
from handformer.selfcheck.ops import Case

MODULES = (rows, activations, attention, positions, loss)


def all_cases(rng: np.random.Generator, dtype: Any = np.float64) -> list[Case]:
    """Every case of every family, in this dtype."""
    return [cast(case, dtype) for module in MODULES for case in module.cases(rng)]


def cast(case: Case, dtype: Any) -> Case:
    """The same case with its floating-point arrays, and its scalar `dtype`, in this dtype."""
    arrays = {
        name: array.astype(dtype) if array.dtype.kind == "f" else array
        for name, array in case.arrays.items()
    }
    told = {"dtype": dtype} if "dtype" in case.scalars else {}
    return replace(case, arrays=arrays, scalars={**case.scalars, **told})
