"""Randomness that can be drawn again: a generator follows from a seed, a step and a place's name.

No generator lives on from one step to the next. So the draws of step 500 don't depend on steps 0
to 499: a resumed run, or a look at one step, makes them again alone.
"""

import hashlib

import numpy as np


def generator(seed: int, step: int, place: str) -> np.random.Generator:
    """A generator for the draws of one place (`"batch"`, `"blocks.0.dropout"`) in one step.

    The three are hashed into the 128-bit key of Philox, a counter-based generator: equal arguments
    give equal draws on every machine, and unequal ones give streams that have nothing in common.

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; the hash is BLAKE2b.
    """
    # Two whole numbers hold no colon, so no two triples share a text.
    text = f"{int(seed)}:{int(step)}:{place}"
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))
