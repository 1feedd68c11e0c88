"""From logits to a token: what is left to choose from, how probable each is, and the draw itself.

Each function takes logits (..., n) and returns logits of the same shape and dtype, in which what
can't be drawn is -inf: its probability is exactly 0. `Sampling` applies them in this order:

    repetition penalty, temperature, top-k, top-p, min-p, softmax

So top-p and min-p judge the probabilities after the temperature, and top-p those that top-k left,
normalised again. Wherever entries are put in order, the larger logit stands first, and of equal
ones the lower id.

Source     temperature: Ackley, Hinton, Sejnowski 1985; top-k: Fan, Lewis, Dauphin 2018; top-p:
           Holtzman et al. 2020; min-p: Nguyen et al. 2024; repetition penalty: Keskar et al. 2019,
           whose division would reward a repeat where a logit is negative.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from handformer.axes import Array, BoolArray, IntArray
from handformer.errors import InputError
from handformer.formula import Sheet
from handformer.ops import softmax

FORMULAS = softmax.FORMULAS.only("top", "total", "y").rename(
    x="logits", y="probs", j="n", i="m"
) + Sheet.parse("""
    rank[b,n]   := sum(m, where(logits[b,m] > logits[b,n] or logits[b,m] == logits[b,n] and m < n,
                                1, 0))
    before[b,n] := sum(m, where(logits[b,m] > logits[b,n] or logits[b,m] == logits[b,n] and m < n,
                                probs[b,m], 0))
    repetition_penalty[b,n] = where(seen[b,n], where(logits[b,n] > 0, logits[b,n] / penalty,
                                                     logits[b,n] * penalty), logits[b,n])
    temperature[b,n] = (logits[b,n] - top[b]) / value
    greedy[b,n] = where(rank[b,n] < 1, 0, -inf)
    top_k[b,n] = where(rank[b,n] < k, logits[b,n], -inf)
    top_p[b,n] = where(before[b,n] < mass or mass >= 1, logits[b,n], -inf)
    min_p[b,n] = where(probs[b,n] >= share * max(m, probs[b,m]), logits[b,n], -inf)
    up_to[b,n] := sum(m, where(m <= n, probs[b,m], 0))
    draw[b] = sum(n, where(up_to[b,n] <= chance[b] * sum(m, probs[b,m]), 1, 0))
""")


def repetition_penalty(logits: Array, seen: BoolArray, penalty: float) -> Array:
    """Make the tokens that have been seen less likely (penalty > 1), each once, however often seen.

    seen (..., n) is true at the tokens that the text so far contains.
    """
    with np.errstate(over="ignore"):
        wide = logits.astype(np.float64)
        penalised = np.where(wide > 0, wide / penalty, wide * penalty)
        return np.where(seen, penalised, wide).astype(logits.dtype)


def temperature(logits: Array, value: float) -> Array:
    """Divide by the temperature: below 1 the likely get likelier; at 0 only the largest is left.

    The row's maximum is taken out first, which leaves the softmax as it is. So only what is below
    the largest can overflow, however small the temperature, and -inf is the right answer there.
    At 0 the first of several largest is left.
    """
    if value == 0:
        greedy = np.full_like(logits, -inf)
        np.put_along_axis(greedy, logits.argmax(axis=-1, keepdims=True), 0, axis=-1)
        return greedy
    with np.errstate(over="ignore"):
        wide = logits.astype(np.float64)
        scaled: Array = (wide - wide.max(axis=-1, keepdims=True)) / value
        return scaled.astype(logits.dtype)


def top_k(logits: Array, k: int) -> Array:
    """Keep the k largest: exactly k, also where the k-th has equals; all, if there are fewer."""
    n = logits.shape[-1]
    if k >= n:
        return logits
    least = np.partition(logits, n - k, axis=-1)[..., n - k, None]  # the k-th largest
    above, equal = logits > least, logits == least
    left = k - above.sum(axis=-1, keepdims=True)
    kept = above | (equal & (equal.cumsum(axis=-1) <= left))
    return np.where(kept, logits, -inf).astype(logits.dtype)


def top_p(logits: Array, mass: float) -> Array:
    """Keep the fewest of the most probable that reach `mass` together; the crossing one is in.

    So an entry is kept while what stands before it is below `mass`; at 1 all are.
    """
    if mass >= 1:
        return logits
    ranked = np.take_along_axis(softmax.forward(logits), _order(logits), axis=-1)
    before = np.zeros(logits.shape, dtype=np.float64)
    np.cumsum(ranked[..., :-1], axis=-1, out=before[..., 1:])
    return _keep(logits, before < mass)


def min_p(logits: Array, share: float) -> Array:
    """Keep what is at least `share` times as probable as the most probable."""
    probs = softmax.forward(logits)
    kept = probs >= share * probs.max(axis=-1, keepdims=True)
    return np.where(kept, logits, -inf).astype(logits.dtype)


def draw(probs: Array, chance: Array) -> IntArray:
    """A token for each row of probs (..., n) by inverse distribution; chance (...) is in [0, 1).

    The token is the first whose mass, added to that of all lower ids, exceeds the chance. One
    number a row decides, so a row's token doesn't depend on its neighbours in a batch.
    """
    mass = np.cumsum(probs, axis=-1, dtype=np.float64)
    # chance is at most 1 - 2^-53, so chance * total < total: mass 0 is never met.
    tokens: IntArray = (mass <= (chance * mass[..., -1])[..., None]).sum(axis=-1)
    return tokens


def seen(tokens: Iterable[int], n: int) -> BoolArray:
    """Which of n vocabulary entries occur among the tokens: (n,)."""
    found = np.zeros(n, dtype=np.bool_)
    found[[token for token in tokens if token < n]] = True
    return found


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. A part that is None takes nothing away.

    temperature
        0: always the most probable token (the lowest id among equals); 1: as the model says
    top_k
        how many of the most probable may be drawn, at least 1
    top_p
        the mass that the most probable have to reach together, above 0 and at most 1
    min_p
        how probable a token has to be, as a share of the most probable one's, 0 to 1
    repetition_penalty
        above 1: tokens that the text contains become less likely; 1: no change

    Raises
    ------
    InputError
        for a number outside its range
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 <= self.temperature < inf:
            expected = "0 (always the most probable token) or a number above it, such as 0.8"
            raise InputError(f"temperature {self.temperature}: expected {expected}")
        if self.top_k is not None and not (self.top_k >= 1 and self.top_k == int(self.top_k)):
            expected = "a whole number from 1 on, or none to keep all"
            raise InputError(f"top_k {self.top_k}: expected {expected}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError(f"top_p {self.top_p}: expected above 0 and at most 1 (1 keeps all)")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise InputError(f"min_p {self.min_p}: expected 0 to 1 (0 keeps all)")
        if not 0 < self.repetition_penalty < inf:
            expected = "a number above 0, such as 1.2 (1 changes nothing)"
            raise InputError(f"repetition_penalty {self.repetition_penalty}: expected {expected}")

    def probabilities(self, logits: Array, seen: BoolArray) -> Array:
        """What tokens are drawn from, (..., n): rows sum to one, what was taken away is exactly 0.

        logits (..., n) are the model's; seen (..., n) is true at the tokens of the text so far.
        """
        *_, (_, left) = self.stages(logits, seen)
        return softmax.forward(left)

    def stages(self, logits: Array, seen: BoolArray) -> Iterator[tuple[str, Array]]:
        """The logits after each part that acts, in order, with its name; the temperature always
        acts.

        What a part takes away is -inf from there on.
        """
        if self.repetition_penalty != 1:
            logits = repetition_penalty(logits, seen, self.repetition_penalty)
            yield "repetition_penalty", logits
        logits = temperature(logits, self.temperature)
        yield "temperature", logits
        if self.top_k is not None:
            logits = top_k(logits, int(self.top_k))
            yield "top_k", logits
        if self.top_p is not None:
            logits = top_p(logits, self.top_p)
            yield "top_p", logits
        if self.min_p is not None:
            logits = min_p(logits, self.min_p)
            yield "min_p", logits


def _order(logits: Array) -> IntArray:
    """The ids of each row, the largest logit first, of equal ones the lower id."""
    return np.argsort(-logits, axis=-1, kind="stable")


def _keep(logits: Array, ranks: BoolArray) -> Array:
    """The logits whose rank is kept; ranks (..., n) says it of the largest, the second, ..."""
    kept = np.empty(logits.shape, dtype=np.bool_)
    np.put_along_axis(kept, _order(logits), ranks, axis=-1)
    return np.where(kept, logits, -inf).astype(logits.dtype)
