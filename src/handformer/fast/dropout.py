"""Dropout, compiled."""

from handformer.axes import Array, BoolArray
from handformer.fast.compiled import compiled, empty_like, flat, known
from handformer.ops import dropout as plain


@compiled
def _forward(x: Array, keep: BoolArray, grown: float, y: Array) -> None:
    zero, factor = x.dtype.type(0), x.dtype.type(grown)
    for at in range(x.size):
        y[at] = x[at] * factor if keep[at] else zero


def forward(x: Array, keep: BoolArray, rate: float) -> Array:
    """y of the shape of x; keep, broadcast against x, is true where an entry stays.

    At rate 0 keep is true everywhere, and x itself is returned.
    """
    if rate == 0 or not known(x) or keep.shape != x.shape:
        return plain.forward(x, keep, rate)
    y = empty_like(x)
    _forward(flat(x), flat(keep), 1 / (1 - rate), flat(y))  # type: ignore[arg-type]
    return y


def backward(d_y: Array, keep: BoolArray, rate: float) -> Array:
    """d_x of the shape of d_y."""
    return forward(d_y, keep, rate)
