"""Cases for the ops that work on rows: linear maps, softmax, LayerNorm, RMSNorm, sums."""

import numpy as np

from handformer.axes import Array
from handformer.ops import add, layer_norm, linear, rms_norm, softmax, tied_linear
from handformer.selfcheck.ops import Arrays, Case

LEADING: tuple[tuple[int, ...], ...] = ((), (2,), (2, 3))
EPS = {"eps": 1e-5}


def cases(rng: np.random.Generator) -> list[Case]:
    """Each op with no, one and two leading axes; without its bias; on rows that strain it."""
    return [*_linear(rng), *_softmax(rng), *_norms(rng), *_sums(rng)]


def _linear(rng: np.random.Generator) -> list[Case]:
    found = []
    for op, weight, shape in ((linear, "w", (5, 7)), (tied_linear, "table", (7, 5))):
        for leading in LEADING:
            x = rng.normal(size=(*leading, 5))
            arrays = {"x": x, weight: rng.normal(size=shape), "bias": rng.normal(size=7)}
            found.append(Case(op, arrays, label=f"leading {leading}"))
        arrays = {"x": rng.normal(size=(2, 5)), weight: rng.normal(size=shape)}
        found.append(Case(op, arrays, label="no bias"))
    return found


def _softmax(rng: np.random.Generator) -> list[Case]:
    found = [
        Case(softmax, {"x": 2 * rng.normal(size=(*leading, 7))}, label=f"leading {leading}")
        for leading in LEADING
    ]
    # A row of very negative scores needs its own maximum too: one held at 0 wouldn't do.
    scores = rng.normal(size=(2, 7)) + np.array([[95.0], [-120.0]])
    return [*found, Case(softmax, {"x": scores}, label="beyond exp's range")]


def _sums(rng: np.random.Generator) -> list[Case]:
    x, z, more = rng.normal(size=(3, 2, 3, 5))
    return [Case(add, {"x": x, "z": z, "more": more}), Case(add, {"x": x, "z": z}, label="two")]


def _norms(rng: np.random.Generator) -> list[Case]:
    found = []
    for leading in LEADING:
        x, weights = _norm(rng, leading)
        label = f"leading {leading}"
        found.append(Case(layer_norm, {"x": x, **weights}, EPS, label))
        found.append(Case(rms_norm, {"x": x, "gamma": weights["gamma"]}, EPS, label))
    x, weights = _norm(rng, (2,))
    gamma = weights["gamma"]
    return [
        *found,
        Case(layer_norm, {"x": x, "gamma": gamma}, EPS, "no beta"),
        Case(layer_norm, {"x": _quiet(x, 0.7), **weights}, EPS, "quiet row"),
        Case(rms_norm, {"x": _quiet(x, 0.0), "gamma": gamma}, EPS, "quiet row"),
    ]


def _norm(rng: np.random.Generator, leading: tuple[int, ...]) -> tuple[Array, Arrays]:
    x: Array = 1.3 * rng.normal(size=(*leading, 7)) + 0.4
    return x, {"gamma": 1 + 0.5 * rng.normal(size=7), "beta": 0.3 * rng.normal(size=7)}


def _quiet(x: Array, at: float) -> Array:
    """The same, but its first row hardly varies around `at`: there eps decides."""
    quiet = x.copy()
    quiet[0] = at + 1e-3 * x[0]
    return quiet
