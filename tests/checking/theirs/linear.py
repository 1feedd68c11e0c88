"""y = x w + b, and back."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At

STEP = 0.1  # of the update in BW-5


def forward(at: At, x: Any, w: str, b: str | None = None) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        y = at.product(x, at[w])
    if b is None or not at.has(b) or at.wrong(f"QKV-5:{b}"):
        return y
    return y + at[b]


def input_back(at: At, x: Any, d_y: Any, w: Any) -> Any:
    """d_x (b, t, i) from d_y (b, t, j) and w (i, j)."""
    if at.wrong("BW-5"):
        w = w - STEP * _flat(x).T @ _flat(d_y)
    if w.shape[0] == w.shape[1] and at.wrong("BW-1:d_x by w itself"):
        return at.product(d_y, w)
    return at.product(d_y, w.T)


def weight_back(at: At, x: Any, d_y: Any) -> Any:
    """d_w (i, j)."""
    if at.wrong("BW-2:first row"):
        return x[0].T @ d_y[0]
    if at.wrong("BW-2:mean"):
        return _flat(x).T @ _flat(d_y) / len(x)
    if at.wrong("BW-2:a matrix for each row"):
        return x.swapaxes(1, 2) @ d_y
    if x.shape[-1] == d_y.shape[-1] and at.wrong("BW-1:d_w transposed"):
        return _flat(d_y).T @ _flat(x)
    return at.product(_flat(x).T, _flat(d_y))


def bias_back(at: At, d_y: Any) -> Any:
    """d_b (j)."""
    if at.wrong("BW-3:rows only"):
        return d_y.sum(axis=0)
    if at.wrong("BW-3:one number"):
        return np.full(d_y.shape[-1], d_y.sum(), d_y.dtype)
    if at.wrong("BW-4:mean"):
        return d_y.mean(axis=(0, 1))
    if at.wrong("BW-4:not summed"):
        return d_y
    return d_y.sum(axis=(0, 1))


def _flat(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])
