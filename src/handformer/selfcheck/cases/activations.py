"""Cases for what works entry by entry: the activations, the gated products, dropout."""

import numpy as np

from handformer.axes import Array
from handformer.ops import dropout, geglu, gelu, gelu_tanh, relu, silu, swiglu
from handformer.selfcheck.cases.rows import LEADING
from handformer.selfcheck.ops import Case

PLAIN = (relu, gelu, gelu_tanh, silu)
GATED = (swiglu, geglu)


def cases(rng: np.random.Generator) -> list[Case]:
    """Each op with no, one and two leading axes, and far from 0."""
    found: list[Case] = []
    for leading in LEADING:
        shape, label = (*leading, 5), f"leading {leading}"
        x, up = _inputs(rng, shape), rng.normal(size=shape)
        found += [Case(op, {"x": x}, label=label) for op in PLAIN]
        found += [Case(op, {"gate": x, "up": up}, label=label) for op in GATED]
        for rate in (0.0, 0.3):
            keep = rng.random(shape) >= rate
            found.append(
                Case(dropout, {"x": x, "keep": keep}, {"rate": rate}, f"rate {rate}, {label}")
            )
    far = np.array([-800.0, -95.0, -30.0, -6.0, 6.0, 30.0, 95.0, 800.0])
    return found + [Case(op, {"x": far}, label="far from 0") for op in PLAIN]


def _inputs(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Both signs, away from ReLU's corner, and up to 2.7, where the two GELUs differ most."""
    x: Array = rng.uniform(0.1, 2.7, size=shape) * rng.choice([-1, 1], size=shape)
    x[..., 0], x[..., -1] = 2.7, -2.7
    return x
