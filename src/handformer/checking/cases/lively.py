"""Numbers on which a mistake can't hide: weights of which none is neutral, and inputs.

They are drawn by the name of their place, and rounded to float32: a reader in that type loses
nothing.
"""

from math import sqrt
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from handformer import tree
from handformer.axes import Array
from handformer.randomness import generator

Layer = TypeVar("Layer")


def lively(node: Layer, name: str) -> Layer:
    """The same layer or model with weights drawn for the case of this name.

    Matrices are as large as keeps rows of attention uneven and none of them one-hot; gammas lie
    around 1, biases and betas around 0, none of them near it.
    """

    def change(path: str, array: Array) -> Array:
        part = path.rpartition(".")[2]
        if array.ndim == 1:
            drawn = apart(name, path, array.shape)
            return np.float32(0.4) * drawn + np.float32(part == "gamma")
        scale = 2 / sqrt(array.shape[1]) if part == "table" else 1.1 / sqrt(array.shape[0])
        return normal(name, path, array.shape, scale)

    return tree.transform(node, change)


def normal(name: str, path: str, shape: tuple[int, ...], scale: float = 1.0) -> NDArray[np.float32]:
    """Normal numbers in float32, this wide."""
    drawn = generator(0, 0, f"case.{name}.{path}").standard_normal(shape)
    found: NDArray[np.float32] = (scale * drawn).astype(np.float32)
    return found


def apart(name: str, path: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Numbers of both signs in float32, from 0.25 to 1.75: none is near 0, none near 2."""
    rng = generator(0, 0, f"case.{name}.{path}")
    drawn: NDArray[np.float64] = rng.uniform(0.25, 1.75, shape) * rng.choice([-1, 1], shape)
    return drawn.astype(np.float32)


def rows_of_tokens(name: str, path: str, shape: tuple[int, int], vocab_size: int) -> Any:
    """Tokens that come again in their row and in other rows; the vocabulary's last never does."""
    tokens = generator(0, 0, f"case.{name}.{path}").integers(vocab_size - 1, size=shape)
    tokens[:, -2] = tokens[:, 0]
    tokens[:, 2] = tokens[0, 2]
    return tokens
