"""Dropout, with the masks that the case gives; where its rate is 0 there is none."""

from typing import Any

import numpy as np

from tests.checking.theirs.program import At


def forward(at: At, x: Any) -> Any:
    """A layer of its own."""
    rate = at.number("rate")
    if rate == 0:
        if at.wrong("DROP-4"):
            return at.put("out", _fresh(at, x, 0.1))
        return x
    return at.put("out", _applied(at, x, at["keep"], rate))


def back(at: At, d_out: Any) -> Any:
    rate = at.number("rate")
    return d_out if rate == 0 else at.put("d_x", np.where(at["keep"], d_out / (1 - rate), 0))


def weights(at: At, attn: Any) -> Any:
    """attn_kept: what dropout leaves of the attention weights."""
    rate = at.number("rate")
    if rate == 0:
        if at.wrong("DROP-4"):
            return at.put("attn_kept", _fresh(at, attn, 0.1))
        return at.note("attn_kept", attn)
    if at.wrong("DROP-2:scores", "DROP-2:context"):
        return at.note("attn_kept", attn)
    return at.put("attn_kept", _applied(at, attn, at["keep"], rate))


def of_scores(at: At, scores: Any) -> Any:
    rate = at.number("rate")
    if rate and at.wrong("DROP-2:scores"):
        return np.where(at["keep"], scores / (1 - rate), 0)
    return scores


def of_context(at: At, context: Any) -> Any:
    rate = at.number("rate")
    return _fresh(at, context, rate) if rate and at.wrong("DROP-2:context") else context


def _applied(at: At, x: Any, keep: Any, rate: float) -> Any:
    if at.wrong("DROP-3"):
        return x
    factors = {"DROP-1:by p": rate, "DROP-1:by 1/p": 1 / rate, "DROP-1:unscaled": 1.0}
    made = [factor for name, factor in factors.items() if at.wrong(name)]
    return np.where(keep, x * (made[0] if made else 1 / (1 - rate)), 0)


def _fresh(at: At, x: Any, rate: float) -> Any:
    keep = at.program.random.random(x.shape) >= rate
    return np.where(keep, x / (1 - rate), 0)


def weights_back(at: At, d_kept: Any) -> Any:
    """d_attn."""
    rate = at.number("rate")
    if rate == 0:
        return d_kept
    if at.wrong("BA-5"):
        d_attn = np.where(at["keep"], d_kept * rate, 0)
    elif at.wrong("BA-6:unmasked"):
        d_attn = d_kept / (1 - rate)
    elif at.wrong("BA-7"):
        d_attn = _fresh(at, d_kept, rate)
    else:
        d_attn = np.where(at["keep"], d_kept / (1 - rate), 0)
    return at.put("d_attn", d_attn)
