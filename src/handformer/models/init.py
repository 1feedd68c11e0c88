"""Where training starts: how wide each weight is drawn, and why.

gpt2, llama   normal, 0.02: small enough that the first logits are nearly even (loss = ln
              vocab_size), a width that fits d_model near 1/0.02^2 = 2500 and is harmless below. The
              two matrices of a block that write to the residual stream are narrower by 1/sqrt(2
              n_layers): the stream is a sum of 2 n_layers such outputs, so its variance stays that
              of one (Radford et al. 2019, 2.3).
bert          normal, 0.02, cut off at two standard deviations (Devlin et al. 2019, their released
              code).
transformer   matrices even in ±sqrt(6 / (in + out)): it keeps the variance in both directions
              (Glorot and Bengio 2010). Tables normal, 1/sqrt(d_model): the model multiplies by
              sqrt(d_model), so an embedding starts with unit entries, the size of the sinusoids
              added to it.
all           biases 0, gammas 1, betas 0: each norm starts as the norm alone.

Each array has its own stream of random numbers, named by its path, so none depends on another's
size.
"""

from math import sqrt
from typing import TypeVar, cast

import numpy as np

from handformer import tree
from handformer.axes import Array
from handformer.models.config import ModelConfig
from handformer.randomness import generator

Model = TypeVar("Model")


class _NoDraws:
    """What stands in for random numbers while a model is put together: only shapes matter then."""

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> Array:
        """An array of this shape that takes no memory."""
        try:
            return np.broadcast_to(np.zeros(()), shape)
        except ValueError:
            raise MemoryError(f"no array can have the shape {shape}") from None


NO_DRAWS = cast(np.random.Generator, _NoDraws())

WIDTH = 0.02
WRITES_TO_STREAM = ("w_o", "w_down")


def draw(model: Model, config: ModelConfig, seed: int, dtype: np.dtype | type) -> Model:
    """The same model with its matrices drawn as the family asks; vectors keep their 0s and 1s."""

    def weights(path: str, array: Array) -> Array:
        if array.ndim < 2:
            return array.astype(dtype)
        rng = generator(seed, 0, f"init.{path}")
        name = path.rpartition(".")[2]
        drawn: Array
        if config.family == "transformer":
            if name == "table":
                drawn = rng.normal(0, 1 / sqrt(config.d_model), array.shape)
            else:
                bound = sqrt(6 / sum(array.shape))
                drawn = rng.uniform(-bound, bound, array.shape)
        elif config.family == "bert":
            drawn = WIDTH * _within_two(rng, array.shape)
        else:
            narrow = sqrt(2 * config.n_layers) if name in WRITES_TO_STREAM else 1.0
            drawn = rng.normal(0, WIDTH / narrow, array.shape)
        return drawn.astype(dtype)

    return tree.transform(model, weights)


def _within_two(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers, drawn again where they lie beyond ±2."""
    drawn = rng.normal(size=shape)
    while (outside := np.abs(drawn) > 2).any():
        drawn[outside] = rng.normal(size=int(outside.sum()))
    return drawn
