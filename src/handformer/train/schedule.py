"""The learning rate of each update, as a function of its number alone.

Updates count from 0, so update `step` is number step + 1: the warm-up's first update already has
lr / warmup, and its last one the whole lr. A rate of 0 would waste a batch.

Source     Loshchilov and Hutter 2017 (SGDR), equation 5, without restarts.
"""

import math

from handformer.formula import Sheet

CONSTANT_FORMULAS = Sheet.parse("""
    rate = where(step < warmup, lr * ((step + 1) / warmup), lr)
""")

# Written as a mean of lr and min_lr, so that both ends of the wave are exact.
COSINE_FORMULAS = Sheet.parse("""
    progress := where(step < steps - 1, (step - warmup) / (steps - 1 - warmup), 1)
    part := where(warmup < steps - 1, (1 + cos(pi * progress)) / 2, 1)
    rate = where(step < warmup, lr * ((step + 1) / warmup), part * lr + (1 - part) * min_lr)
""")


def constant(step: int, *, lr: float, warmup: int = 0) -> float:
    """`lr` at every update, after a linear rise over `warmup` updates (none by default)."""
    return lr * ((step + 1) / warmup) if step < warmup else lr


def warmup_cosine(step: int, *, lr: float, min_lr: float, warmup: int, steps: int) -> float:
    """A linear rise over `warmup` updates, then half a cosine wave down to `min_lr`.

    The wave's clock starts where the warm-up ends, with the whole lr, so there is no jump; the last
    of `steps` updates has exactly `min_lr`, and so has every later one. Where the warm-up leaves no
    room for a descent (warmup >= steps - 1), the rate rises and stays.
    """
    if step < warmup:
        return constant(step, lr=lr, warmup=warmup)
    room = steps - 1 - warmup
    if room <= 0:
        return lr
    progress = min(1.0, (step - warmup) / room)
    part = (1 + math.cos(math.pi * progress)) / 2
    return part * lr + (1 - part) * min_lr
