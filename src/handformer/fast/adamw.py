"""An update of all weights in place: gradients added up, their norm, and AdamW, block by block.

The formulas are those of `train.optimizer`. Weights, moments and gradients are cut into blocks of
BLOCK entries, which the workers share out; each sum over a block is made by one of them, and the
sums of blocks are added exactly. So the result doesn't depend on the number of workers.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from handformer.axes import Array
from handformer.fast.compiled import compiled
from handformer.fast.workers import Workers

BLOCK = 1 << 16
Run = Callable[[tuple[Array, ...]], float]


@dataclass(frozen=True)
class Rates:
    """The numbers of one update: `scale` shortens the gradient (clipping), `step` counts from 1."""

    lr: float
    beta_1: float
    beta_2: float
    eps: float
    weight_decay: float
    step: int
    scale: float


@compiled
def _add(total: Array, part: Array) -> None:
    for at in range(total.size):
        total[at] += part[at]


@compiled
def _square(x: Array) -> float:
    total = 0.0
    for at in range(x.size):
        wide = np.float64(x[at])
        total += wide * wide
    return total


@compiled
def _update(
    w: Array, d_w: Array, m: Array, v: Array,
    lr: float, decay: float, beta_1: float, beta_2: float, eps: float,
    m_full: float, v_full: float, scale: float,
) -> float:  # fmt: skip
    """One block; what comes back is 0, or NaN where a new number isn't finite."""
    kind = w.dtype.type
    rate, shrink, small, factor = kind(lr), kind(decay), kind(eps), kind(scale)
    keep_1, new_1, keep_2, new_2 = kind(beta_1), kind(1 - beta_1), kind(beta_2), kind(1 - beta_2)
    grow_1, grow_2 = kind(1 / m_full), kind(1 / v_full)
    wrong = kind(0)
    for at in range(w.size):
        slope = d_w[at] * factor
        m_new = keep_1 * m[at] + new_1 * slope
        v_new = keep_2 * v[at] + new_2 * (slope * slope)
        w_new = w[at] - shrink * w[at] - rate * (m_new * grow_1) / (np.sqrt(v_new * grow_2) + small)
        m[at], v[at], w[at] = m_new, v_new, w_new
        wrong += (w_new + v_new) * kind(0)
    return float(wrong)


def add_up(parts: Sequence[Sequence[Array]], workers: Workers) -> list[float]:
    """Add the gradients of all parts to those of the first, in order; of each array that this
    makes, the sum of the squares.

    Each part has the same arrays, contiguous. A sum is NaN or infinite if an entry is.
    """

    def run(block: tuple[Array, ...]) -> float:
        total, *others = block
        for other in others:
            _add(total, other)
        return _square(total)

    squares = iter(_each(run, list(zip(*parts, strict=True)), workers))
    sizes = [array.size for array in parts[0]]
    return [next(squares) if size <= BLOCK else _total(squares, size) for size in sizes]


def update(
    weights: Sequence[Array],
    grads: Sequence[Array],
    moments: tuple[Sequence[Array], Sequence[Array]],
    rates: Rates,
    workers: Workers,
) -> bool:
    """One AdamW update, in place; whether every new number is finite. Only matrices decay."""
    m_full, v_full = 1 - rates.beta_1**rates.step, 1 - rates.beta_2**rates.step

    def with_decay(decay: float) -> Run:
        def run(block: tuple[Array, ...]) -> float:
            w, d_w, m, v = block
            return _update(
                w, d_w, m, v, rates.lr, decay, rates.beta_1, rates.beta_2, rates.eps,
                m_full, v_full, rates.scale,
            )  # fmt: skip

        return run

    together = list(zip(weights, grads, *moments, strict=True))
    matrices = [arrays for arrays in together if arrays[0].ndim >= 2]
    vectors = [arrays for arrays in together if arrays[0].ndim < 2]
    wrong = _each(with_decay(rates.lr * rates.weight_decay), matrices, workers)
    wrong += map(with_decay(0.0), vectors)  # too small to be shared out
    return all(number == 0 for number in wrong)


def _each(run: Run, together: Sequence[tuple[Array, ...]], workers: Workers) -> list[float]:
    """run(block) of every block of the arrays that belong together, in order."""
    blocks: list[tuple[Array, ...]] = []
    for arrays in together:
        if not all(array.flags.c_contiguous for array in arrays):
            raise ValueError("an array isn't contiguous: let the engine own the model first")
        flat = tuple([array.reshape(-1) for array in arrays])
        if flat[0].size <= BLOCK:
            blocks.append(flat)
        else:
            starts = range(0, flat[0].size, BLOCK)
            blocks += [tuple([x[start : start + BLOCK] for x in flat]) for start in starts]
    ends = np.cumsum([block[0].size for block in blocks])
    shares = np.searchsorted(ends, np.linspace(0, ends[-1] if len(ends) else 0, workers.count + 1))
    pieces = [blocks[a:b] for a, b in zip([0, *shares[1:-1]], [*shares[1:-1], None], strict=True)]
    done = workers.map(lambda piece: [run(block) for block in piece], pieces)
    return [number for numbers in done for number in numbers]


def _total(squares: Iterator[float], size: int) -> float:
    """The sum over the next blocks, which are those of an array of this size."""
    own = list(islice(squares, -(-size // BLOCK)))
    return math.fsum(own) if all(map(math.isfinite, own)) else sum(own)
