"""GELU in two forms, SiLU, ReLU; each with its derivative."""

import math
from typing import Any

import numpy as np

from tests.checking.theirs.program import At

CUBE = 0.044715


def erf(x: Any) -> Any:
    if hasattr(x, "erf"):
        return x.erf()
    return np.vectorize(math.erf, otypes=[x.dtype])(x)


def gelu(x: Any, inside: float = 0.5**0.5) -> Any:
    return x * (1 + erf(x * inside)) / 2


def gelu_slope(x: Any) -> Any:
    density = np.exp(-(x**2) / 2) / (2 * math.pi) ** 0.5
    return (1 + erf(x * 0.5**0.5)) / 2 + x * density


def gelu_tanh(x: Any, cube: float = CUBE, root: float = (2 / math.pi) ** 0.5) -> Any:
    return 0.5 * x * (1 + np.tanh(root * (x + cube * x**3)))


def gelu_by_sigmoid(at: At, x: Any) -> Any:
    return x * sigmoid(at, 2 * (2 / math.pi) ** 0.5 * (x + CUBE * x**3))


def gelu_tanh_slope(at: At, x: Any) -> Any:
    root = (2 / math.pi) ** 0.5
    t = np.tanh(root * (x + CUBE * x**3))
    inner = root * (1 + 3 * CUBE * x**2)
    if at.wrong("BF-1:half of the product rule"):
        return (1 + t) / 2
    if at.wrong("BF-1:-t^2"):
        return (1 + t) / 2 + x / 2 * -(t**2) * inner
    if at.wrong("BF-1:1 + t^2"):
        return (1 + t) / 2 + x / 2 * (1 + t**2) * inner
    return (1 + t) / 2 + x / 2 * (1 - t**2) * inner


def sigmoid(at: At, x: Any) -> Any:
    if at.wrong("SIGMOID:by tanh"):
        return (1 + np.tanh(x / 2)) / 2
    return 1 / (1 + np.exp(-x))


def silu(at: At, x: Any) -> Any:
    return x * sigmoid(at, x)


def silu_slope(at: At, x: Any) -> Any:
    s = sigmoid(at, x)
    return s * (1 + x * (1 - s))


def activated(at: At, x: Any) -> Any:
    """The activation of the family, as this program has it."""
    family = at.case.family
    if family == "transformer":
        return np.maximum(x, 0)
    if at.wrong("FFN-3:relu", "FFN-8"):
        return np.maximum(x, 0)
    if at.wrong("FFN-3:silu"):
        return silu(at, x)
    if at.wrong("FFN-3:quick"):
        return x / (1 + np.exp(-1.702 * x))
    if family == "bert":
        if at.wrong("FFN-1:tanh"):
            return gelu_tanh(x)
        if at.wrong("FFN-2:no 1/sqrt(2)"):
            return gelu(x, 1.0)
        return gelu(x)
    if at.wrong("FFN-1:erf"):
        return gelu(x)
    if at.wrong("GELU:by the sigmoid"):
        return gelu_by_sigmoid(at, x)
    constants = {
        "0.44715": {"cube": 0.44715},
        "sqrt(2 pi)": {"root": (2 * math.pi) ** 0.5},
        "2 / pi": {"root": 2 / math.pi},
    }
    form = at.form("FFN-2", constants)
    return gelu_tanh(x, **constants[form]) if form else gelu_tanh(x)


def slope(at: At, x: Any, post: Any) -> Any:
    """Its derivative."""
    family = at.case.family
    if family == "transformer":
        kept = post if at.wrong("RELU:by the output") else x
        return (kept > 0).astype(x.dtype)
    if at.wrong("BF-2"):
        x = post
    if family == "bert":
        if at.wrong("BF-1:half of the product rule"):
            return (1 + erf(x * 0.5**0.5)) / 2
        return gelu_slope(x)
    return gelu_slope(x) if at.wrong("BF-3") else gelu_tanh_slope(at, x)
