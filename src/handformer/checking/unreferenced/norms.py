"""Of a norm: the mean and the mean square of x_hat, and what the gradient d_x is orthogonal to.

With eps, the mean square of x_hat is var / (var + eps), a little below 1: one eps must explain all
rows.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.axes import Array
from handformer.checking.unreferenced.asked import Asked
from handformer.checking.unreferenced.judged import BLIND, FEW, judged
from handformer.checking.unreferenced.seen import Given, Seen
from handformer.formula.evaluate import evaluate
from handformer.ops import layer_norm, rms_norm

_LARGEST_EPS = 1e-2
_BESSEL = 0.05  # of the distance from (d - 1) / d to 1


def ask(seen: Seen) -> Iterator[Asked]:
    """Every norm whose x_hat or d_x is there."""
    for _, inside in seen.scopes("x_hat"):
        x_hat = inside["x_hat"]
        if x_hat.array.shape[-1] > 1 and x_hat.finite:
            centred = _centred(inside)
            if centred:
                yield _mean(inside)
            yield _square(inside, centred=centred)
            if {"d_x", "d_x_hat"} <= {*inside}:
                yield from _gradient(inside, centred=centred)


def _centred(inside: Mapping[str, Given]) -> bool:
    """A LayerNorm takes the mean out; an RMSNorm doesn't."""
    if {"mean", "rstd", "beta"} & {*inside}:
        return True
    if "rrms" in inside:
        return False
    means = inside["x_hat"].array.mean(axis=-1)
    return bool(np.abs(means).max(initial=0) < 1e-2)


def _before(inside: Mapping[str, Given], *, centred: bool) -> Array:
    """The magnitudes of what x_hat is made of: a mean that was taken out took digits with it."""
    x_hat, x = inside["x_hat"].array, inside.get("x")
    size: Array = np.abs(x_hat)
    if not centred:
        return size
    if x is None or x.array.shape != x_hat.shape:
        return BLIND * (size + 1)
    centre = evaluate(layer_norm.FORMULAS, "mean", {"x": x.array}, {})[..., None]
    spread = _spread(x.array, centred=True)
    rstd = np.sqrt(_spread(x_hat, centred=False) / np.where(spread > 0, spread, 1))[..., None]
    size = size + (np.abs(x.array) + np.abs(centre)) * rstd
    return size


def _mean(inside: Mapping[str, Given]) -> Asked:
    one = inside["x_hat"]
    n = one.array.shape[-1]
    size = _before(inside, centred=True).mean(axis=-1)
    allowed = (n + FEW) * one.unit * size + one.quantum
    means = "the mean wasn't taken out, or is that of another axis"
    hints: tuple[str, ...] = ("NORM-4", "NORM-8")
    for axis in range(one.array.ndim - 1):
        if one.array.shape[axis] > 1 and np.abs(one.array.mean(axis=axis)).max() < 1e-3:
            means, hints = f"the mean along axis {axis} is 0 instead", ("NORM-4",)
    return judged(one, "rows have mean 0", one.array.mean(axis=-1), allowed, means=means,
                  hints=hints)  # fmt: skip


def _square(inside: Mapping[str, Given], *, centred: bool) -> Asked:
    """The mean square: as large as one eps explains, where x is there; else not above 1."""
    one, x = inside["x_hat"], inside.get("x")
    n = one.array.shape[-1]
    found = _spread(one.array, centred=False)
    size = (np.abs(one.array) * _before(inside, centred=centred)).mean(axis=-1)
    allowed = 2 * ((n + FEW) * one.unit * size + np.abs(one.array).mean(axis=-1) * one.quantum)
    constant = np.ptp(found) < _BESSEL / n
    if constant and abs(found.mean() - (n - 1) / n) < _BESSEL / n and centred and found.size > 1:
        said = "it is (d - 1) / d: the variance was divided by one less than the width"
        return judged(one, "rows have mean square 1", found - 1, allowed, means=said,
                      hints=("NORM-1",))  # fmt: skip
    if x is None or x.array.shape != one.array.shape:
        means, hints = "above 1: it was divided by too little", ("NORM-2", "NORM-5", "NORM-8")
        return judged(one, "the mean square of a row is at most 1", np.maximum(found - 1, 0),
                      allowed, means=means, hints=hints)  # fmt: skip
    spread = _spread(x.array, centred=centred)
    eps = _eps(found, spread)
    right = spread / np.where(spread + eps > 0, spread + eps, 1)
    allowed = allowed + 4 * (n + FEW) * one.unit * right
    kind = "variance" if centred else "mean square"
    return judged(
        one, f"rows have mean square {kind} / ({kind} + eps)", found - right, allowed,
        said=f"eps {eps:.2g}",
        means="no eps explains it: eps stands outside the root, the divisor is another one, or the "
        "statistics run over another axis",
        hints=("NORM-2", "NORM-4", "NORM-5", "NORM-8"),
    )  # fmt: skip


def _spread(x: NDArray[Any], *, centred: bool) -> Array:
    """The variance or the mean square: without eps, the factor is 1 over its root."""
    sheet, factor = (layer_norm, "rstd") if centred else (rms_norm, "rrms")
    return evaluate(sheet.FORMULAS, factor, {"x": x}, {"eps": 0}) ** -2.0


def _eps(found: Array, spread: Array) -> float:
    """The eps that the row with the smallest spread tells best; 0 where none does."""
    row = np.unravel_index(int(np.where(spread > 0, spread, np.inf).argmin()), spread.shape)
    if not found[row] or not np.isfinite(spread[row]):
        return 0.0
    eps = float(spread[row] * (1 / found[row] - 1))
    return eps if 0 < eps < _LARGEST_EPS else 0.0


def _gradient(inside: Mapping[str, Given], *, centred: bool) -> Iterator[Asked]:
    """d_x against ones, and against x_hat: exactly rstd (1 - mean square) sum(d_x_hat x_hat)."""
    one, x_hat, d_x_hat = inside["d_x"], inside["x_hat"], inside["d_x_hat"]
    scale = inside.get("rstd") if centred else inside.get("rrms")
    n, d, hat = x_hat.array.shape[-1], d_x_hat.array, x_hat.array
    if scale is None or not (one.array.shape == d.shape == hat.shape == (*scale.array.shape, n)):
        return
    unit = max(given.unit for given in (one, x_hat, d_x_hat, scale))
    quantum = max(given.quantum for given in (one, x_hat, d_x_hat, scale))
    along = np.abs(d * hat).mean(axis=-1, keepdims=True)
    terms = np.abs(d) + np.abs(d).mean(axis=-1, keepdims=True) + np.abs(hat) * along
    size = np.abs(scale.array)[..., None] * terms
    bound = (n + FEW) * (unit * size + quantum)
    if centred:
        yield judged(
            one, "rows are orthogonal to 1: they sum to 0", one.array.sum(axis=-1),
            bound.sum(axis=-1),
            means="a LayerNorm doesn't change when its row is shifted: the term with the mean of "
            "d_x_hat is missing, or counted twice", hints=("BN-2", "BN-3", "BN-1", "BN-5"),
        )  # fmt: skip
    product = (one.array * hat).sum(axis=-1)
    right = scale.array * (1 - _spread(hat, centred=False)) * (d * hat).sum(axis=-1)
    yield judged(
        one, "rows are orthogonal to x_hat, as far as eps lets them be", product - right,
        2 * (bound * (np.abs(hat) + 1)).sum(axis=-1),
        means="a norm doesn't change when its row is stretched: the term along x_hat is missing",
        hints=("BN-4", "BN-1", "BN-8"),
    )  # fmt: skip
