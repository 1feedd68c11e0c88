"""Rotary positions: pairs of channels of q and k turn with the token's place."""

from typing import Any

import numpy as np

from tests.checking.theirs import halves
from tests.checking.theirs.program import At


def table(at: At, positions: Any) -> tuple[Any, Any]:
    """cos and sin (b, t, pairs)."""
    width = at.case.width
    places = positions.astype(at.program.dtype)[..., None]
    pair = np.arange(width // 2).astype(at.program.dtype)
    base, denominator = at.number("base"), float(width)
    bases = {"1e4": 1e4, "5e5": 5e5, "1e6": 1e6}
    if form := at.form("ROPE-6", (name for name in bases if bases[name] != base)):
        base = bases[form]
    if at.wrong("ROPE-5:d_model"):
        denominator = float(at.case.config["d_model"])
    elif at.wrong("ROPE-5:half"):
        denominator = width / 2
    elif at.wrong("ROPE-5:no 2"):
        denominator = width * 2.0
    if at.wrong("ROPE-8:positions in bf16"):
        places = halves.bfloat16(places)
    if at.wrong("ROTARY:places from 1"):
        places = places + 1
    if at.wrong("ROTARY:half as denominator"):
        angle = places * base ** -(pair / (width // 2))
    else:
        angle = places / base ** (2 * pair / denominator)
    if at.wrong("ROPE-8:angles in bf16"):
        angle = halves.bfloat16(angle)
    elif at.wrong("ROPE-8:angles in fp16"):
        angle = halves.float16(angle)
    return at.put("cos", np.cos(angle)), at.put("sin", np.sin(angle))


def turned(at: At, x: Any, cos: Any, sin: Any) -> Any:
    """x (b, heads, t, k), turned."""
    half = x.shape[-1] // 2
    if at.wrong("ROPE-4"):
        cos, sin = (_by_head(part, x.shape[1]) for part in (cos, sin))
    else:
        cos, sin = cos[:, None], sin[:, None]
    if at.wrong("ROPE-7"):
        sin = -sin
    first, second = x[..., :half], x[..., half:]
    even, odd = x[..., ::2], x[..., 1::2]
    if at.wrong("ROPE-1"):
        return _by_turns(even * cos - odd * sin, even * sin + odd * cos)
    if at.wrong("ROPE-2:half-split by angles of pairs"):
        swapped = np.concatenate([-second, first], axis=-1)
        return x * np.repeat(cos, 2, axis=-1) + swapped * np.repeat(sin, 2, axis=-1)
    if at.wrong("ROPE-2:pairs by half-split angles"):
        swapped = _by_turns(-odd, even)
        return x * np.concatenate([cos, cos], -1) + swapped * np.concatenate([sin, sin], -1)
    if at.wrong("ROPE-3:pairs, written in halves"):
        return np.concatenate([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    if at.wrong("ROPE-3:halves, written by turns"):
        return _by_turns(first * cos - second * sin, first * sin + second * cos)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def back(at: At, d: Any, cos: Any, sin: Any) -> Any:
    """The gradient of x: turned the other way."""
    half = d.shape[-1] // 2
    cos, sin = cos[:, None], sin[:, None]
    if at.wrong("BA-12:skipped"):
        return d
    if at.wrong("BA-12:forward again"):
        sin = -sin
    first, second = d[..., :half], d[..., half:]
    return np.concatenate([first * cos + second * sin, second * cos - first * sin], axis=-1)


def _by_turns(even: Any, odd: Any) -> Any:
    return np.stack([even, odd], axis=-1).reshape(*even.shape[:-1], -1)


def _by_head(part: Any, heads: int) -> Any:
    """Row h of a row's table for head h, at every place: the table read along the wrong axis."""
    return part[:, :heads, None]
