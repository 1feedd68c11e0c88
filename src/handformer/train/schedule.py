"""The learning rate of each update, as a function of its number alone.

Updates count from 0, so update `step` is number step + 1: the warm-up's first update already has
lr / warmup, and its last one the whole lr. A rate of 0 would waste a batch.
"""

import math


def constant(step: int, *, lr: float, warmup: int = 0) -> float:
    """`lr` at every update, after a linear rise over `warmup` updates (none by default)."""
    return lr * ((step + 1) / warmup) if step < warmup else lr


def warmup_cosine(step: int, *, lr: float, min_lr: float, warmup: int, steps: int) -> float:
    """A linear rise over `warmup` updates, then half a cosine wave down to `min_lr`.

        step < warmup    lr * (step + 1) / warmup
        from there on    min_lr + (lr - min_lr) * (1 + cos(pi * progress)) / 2
                         progress = (step - warmup) / (steps - 1 - warmup), at most 1

    The wave's clock starts where the warm-up ends, with the whole lr, so there is no jump; the last
    of `steps` updates has exactly `min_lr`, and so has every later one. Where the warm-up leaves no
    room for a descent (warmup >= steps - 1), the rate rises and stays.

    Source: Loshchilov and Hutter 2017 (SGDR), equation 5, without restarts.
    """
    if step < warmup:
        return constant(step, lr=lr, warmup=warmup)
    room = steps - 1 - warmup
    if room <= 0:
        return lr
    progress = min(1.0, (step - warmup) / room)
    part = (1 + math.cos(math.pi * progress)) / 2
    return part * lr + (1 - part) * min_lr  # in this form both ends are exact
