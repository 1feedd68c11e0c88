"""What draws the dropout masks of a pass: nothing, or random numbers of the step's own."""

from functools import lru_cache
from typing import Protocol

import numpy as np

from handformer.axes import BoolArray, record
from handformer.randomness import generator
from handformer.tree import join

Shape = tuple[int, ...]


class Drops(Protocol):
    """What a layer asks for a mask."""

    def at(self, name: str) -> "Drops":
        """The same for a part of the model."""
        ...

    def rate(self, rate: float) -> float:
        """The rate that holds in this pass, where a layer has `rate`."""
        ...

    def keep(self, shape: Shape, rate: float) -> BoolArray:
        """A mask of this shape, false with a chance of `rate`."""
        ...


@lru_cache(maxsize=256)
def _everything(shape: Shape) -> BoolArray:
    return np.broadcast_to(np.array(True), shape)


@record
class NoDropout:
    """What draws no masks: every entry is kept, as in evaluation."""

    def at(self, name: str) -> "NoDropout":
        """The same for a part of the model."""
        return self

    def rate(self, rate: float) -> float:
        """The rate that holds in this pass, where a layer asks for `rate`: none."""
        return 0.0

    def keep(self, shape: Shape, rate: float) -> BoolArray:
        """A mask of this shape, true everywhere; it takes no memory, and can't be written to."""
        return _everything(shape)


@record
class RandomDropout:
    """What draws the masks of one step: each from the seed, the step and the name of its place.

    So a mask depends on nothing that was drawn before it, and can be drawn again alone.
    """

    seed: int
    step: int
    place: str = ""

    def at(self, name: str) -> "RandomDropout":
        """The same for a part of the model: its name is added to the place."""
        return RandomDropout(self.seed, self.step, join(self.place, name))

    def rate(self, rate: float) -> float:
        """The rate that holds in this pass: the layer's own."""
        return rate

    def keep(self, shape: Shape, rate: float) -> BoolArray:
        """A mask of this shape that is false with a chance of `rate`; true everywhere at rate 0."""
        if rate == 0:
            return NO_DROPOUT.keep(shape, rate)
        draws = generator(self.seed, self.step, self.place).random(shape, dtype=np.float32)
        return draws >= rate


NO_DROPOUT = NoDropout()
