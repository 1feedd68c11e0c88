"""Dropout: in training, each entry is zeroed with a given chance, and the rest made larger.

Forward    a kept entry is divided by 1 - rate, so that the mean over many draws is x itself, and
           nothing has to be rescaled when the dropout is off.
Backward   the same mask and the same factor: y is linear in x.
Kept       keep, the mask: a second draw would be another function.
Source     Srivastava et al. 2014, section 4 and (for the scaling while training) section 10.
"""

import numpy as np

from handformer.axes import Array, BoolArray, record
from handformer.formula import Sheet
from handformer.randomness import generator
from handformer.tree import join

FORMULAS = Sheet.parse("""
    y[b]   = where(keep[b], x[b] / (1 - rate), 0)
    d_x[b] = where(keep[b], d_y[b] / (1 - rate), 0)
""")

Shape = tuple[int, ...]


def forward(x: Array, keep: BoolArray, rate: float) -> Array:
    """y of the shape of x; keep, broadcast against x, is true where an entry stays.

    At rate 0 keep is true everywhere, and x itself is returned.
    """
    if rate == 0:
        return x
    return np.where(keep, x * (1 / (1 - rate)), 0)


def backward(d_y: Array, keep: BoolArray, rate: float) -> Array:
    """d_x of the shape of d_y."""
    return forward(d_y, keep, rate)


@record
class Keeping:
    """What draws no masks: every entry is kept, as in evaluation."""

    def at(self, name: str) -> "Keeping":
        """The same for a part of the model."""
        return self

    def rate(self, rate: float) -> float:
        """The rate that holds in this pass, where a layer asks for `rate`: none."""
        return 0.0

    def keep(self, shape: Shape, rate: float) -> BoolArray:
        """A mask of this shape, true everywhere; it takes no memory, and can't be written to."""
        return np.broadcast_to(np.array(True), shape)


@record
class Dropping(Keeping):
    """What draws the masks of one step: each from the seed, the step and the name of its place.

    So a mask depends on nothing that was drawn before it, and can be drawn again alone.
    """

    seed: int
    step: int
    place: str = ""

    def at(self, name: str) -> "Dropping":
        """The same for a part of the model: its name is added to the place."""
        return Dropping(self.seed, self.step, join(self.place, name))

    def rate(self, rate: float) -> float:
        """The rate that holds in this pass: the layer's own."""
        return rate

    def keep(self, shape: Shape, rate: float) -> BoolArray:
        """A mask of this shape that is false with a chance of `rate`; true everywhere at rate 0."""
        if rate == 0:
            return NO_DROPOUT.keep(shape, rate)
        draws = generator(self.seed, self.step, self.place).random(shape, dtype=np.float32)
        return draws >= rate


NO_DROPOUT = Keeping()
