"""Cases of the ops that say which token stands where: embedding, position codes, rotations, ALiBi.

Tokens occur more than once in a row and in several rows, and positions reach beyond 64, where a
wrong base or a rounded angle shows.
"""

import math

import numpy as np

from handformer.ops import alibi, embedding, rotary, rotary_angles, rotary_interleaved, sinusoidal
from handformer.selfcheck.ops import Case

LEADING = ((), (2,), (2, 3))
BASES = (10000.0, 500000.0, 10000.0)


def cases(rng: np.random.Generator) -> list[Case]:
    """Every op of this family, on inputs drawn from rng."""
    return [
        *_embedding(rng),
        *_sinusoidal(rng),
        *_rotary(rng),
        *(
            Case(
                alibi,
                {},
                {"n_queries": 3, "n_keys": 5, "n_heads": n_heads, "dtype": np.float64},
                f"{n_heads} heads",
            )
            for n_heads in (1, 8, 12)
        ),
    ]


def _embedding(rng: np.random.Generator) -> list[Case]:
    vocab_size, d_model = 7, 5
    tokens = {
        "one token": np.array(3),
        "one row": np.array([6, 1, 6, 6]),
        "repeats across rows": np.array(
            [[[1, 3, 1, 1], [3, 3, 2, 0]], [[6, 2, 2, 3], [0, 1, 4, 4]]]
        ),
    }
    return [
        Case(
            embedding,
            {"tokens": at, "table": rng.normal(size=(vocab_size, d_model))},
            {"scale": scale, "vocab_size": vocab_size},
            label,
        )
        for (label, at), scale in zip(tokens.items(), (1.0, 1.0, math.sqrt(d_model)), strict=True)
    ]


def _sinusoidal(rng: np.random.Generator) -> list[Case]:
    return [
        Case(
            sinusoidal,
            {"positions": rng.integers(0, 300, (*leading, 4))},
            {"d_model": d_model, "base": 10000.0, "dtype": np.float64},
            label,
        )
        for leading, d_model, label in zip(
            LEADING, (6, 8, 7), ("one row", "rows", "an odd width"), strict=True
        )
    ]


def _rotary(rng: np.random.Generator) -> list[Case]:
    found = []
    sizes = ((3, 4, 6), (3, 1, 4), (1, 2, 4))
    for leading, base, (n_heads, n_queries, d_k) in zip(LEADING, BASES, sizes, strict=True):
        positions = np.array([2051, 64, 1, 0])[:n_queries] + rng.integers(0, 9, (*leading, 1))
        numbers = {"d_k": d_k, "base": base, "n_pairs": d_k // 2, "dtype": np.float64}
        label = f"leading {leading}"
        found.append(Case(rotary_angles, {"positions": positions}, numbers, label))
        cos, sin = rotary_angles.forward(positions, d_k, base, np.float64)
        for op in (rotary, rotary_interleaved):
            x = rng.normal(size=(*leading, n_heads, n_queries, d_k))
            found.append(Case(op, {"x": x, "cos": cos, "sin": sin}, {"d_k": d_k}, label))
    return found
