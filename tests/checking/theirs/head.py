"""The last step: a number for each entry of the vocabulary."""

from typing import Any

import numpy as np

from tests.checking.theirs import activations, linear, norms
from tests.checking.theirs.program import At

CAP = 30.0


def forward(at: At, x: Any) -> Any:
    at.note("x", x)
    if at.has("bias"):
        x = _prepared(at, x)
    w = _matrix(at)
    if at.wrong("UNEMB-1"):
        w = np.random.default_rng(5).normal(0, 0.02, w.shape).astype(w.dtype)
    elif w.shape[0] == w.shape[1] and at.wrong("UNEMB-5:E"):
        w = w.T
    with np.errstate(invalid="ignore"):
        logits = at.product(x, w)
    if at.has("bias"):
        logits = logits + at["bias"] * (2 if at.wrong("UNEMB-2") else 1)
    if at.wrong("UNEMB-4"):
        logits = CAP * np.tanh(logits / CAP)
    elif at.wrong("UNEMB-5:scaled"):
        logits = logits / x.shape[-1] ** 0.5
    return at.put("out", logits)


def _own(at: At) -> str:
    """The name of a matrix that isn't the embedding's table again."""
    return "w_out" if at.has("bias") else "w"


def _matrix(at: At) -> Any:
    return at[_own(at)] if at.has(_own(at)) else at["table"].T


def _prepared(at: At, x: Any) -> Any:
    pre = at.put("pre", linear.forward(at, x, "w", "b"))
    post = at.put("post", activations.activated(at, pre))
    return norms.forward(at.under("norm"), post)


def backward(at: At, d_out: Any) -> tuple[Any, Any]:
    """d_x, and what reaches the table of a tied head."""
    if at.has("bias"):
        return _masked_back(at, d_out)
    d_x = at.put("d_x", linear.input_back(at, at["x"], d_out, _matrix(at)))
    return d_x, _matrix_back(at, at["x"], d_out)


def _matrix_back(at: At, x: Any, d_out: Any) -> Any:
    """Writes the gradient of the matrix; gives it back where it is the embedding's."""
    d = linear.weight_back(at, x, d_out)
    if at.has(_own(at)):
        at.put(f"d_{_own(at)}", d)
        return None
    return at.put("d_table", d.swapaxes(-1, -2))


def _masked_back(at: At, d_out: Any) -> tuple[Any, Any]:
    norm = at.under("norm")
    d_table = _matrix_back(at, norm["out"], d_out)
    d_norm = norm.put("d_out", linear.input_back(at, norm["out"], d_out, _matrix(at)))
    d_post = norms.backward(norm, d_norm)
    d_pre = at.put("d_pre", d_post * activations.slope(at, at["pre"], at["post"]))
    at.put("d_w", linear.weight_back(at, at["x"], d_pre))
    at.put("d_b", linear.bias_back(at, d_pre))
    at.put("d_bias", linear.bias_back(at, d_out))
    return at.put("d_x", linear.input_back(at, at["x"], d_pre, at["w"])), d_table
