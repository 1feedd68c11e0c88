"""LayerNorm and RMSNorm, forward and backward."""

from typing import Any

import numpy as np

from tests.checking.theirs import halves
from tests.checking.theirs.program import At

EPSILONS = {"1e-5": 1e-5, "1e-6": 1e-6, "1e-8": 1e-8, "1e-12": 1e-12}


def forward(at: At, x: Any, other: At | None = None) -> Any:
    """out (b, t, i). other is the norm whose gain is taken by mistake."""
    at.note("x", x)
    if at.wrong("NORM-12"):
        return at.put("out", x)
    if at.wrong("NORM-10:before"):
        x = x * at["gamma"] + (at["beta"] if at.has("beta") else 0)
    with np.errstate(invalid="ignore", over="ignore"):
        x_hat = _layer(at, x) if at.has("beta") else _rms(at, x)
        return at.put("out", _gained(at, at.put("x_hat", x_hat), other or at))


def _eps(at: At) -> float:
    eps = at.number("eps")
    form = at.form("NORM-3", (name for name in EPSILONS if EPSILONS[name] != eps))
    return EPSILONS[form] if form else eps


def _axes(at: At) -> Any:
    """The axes that statistics run over."""
    axes = {"T": 1, "T and d": (1, 2), "batch": 0}
    form = at.form("NORM-4", axes)
    return axes[form] if form else -1


def _written(at: At, name: str, statistic: Any) -> Any:
    """A number for each place; other shapes aren't written."""
    at.note(f"{name} of all", statistic)
    if statistic.shape[:2] == at["x"].shape[:2] and statistic.shape[2] == 1:
        at.put(name, statistic[..., 0])
    return statistic


def _layer(at: At, x: Any) -> Any:
    axes = _axes(at)
    mean = _written(at, "mean", x.mean(axis=axes, keepdims=True))
    if at.wrong("NORM-1"):
        variance = x.var(axis=axes, ddof=1, keepdims=True)
    elif at.wrong("VARIANCE:in one pass"):
        variance = (x**2).mean(axis=axes, keepdims=True) - mean**2
    else:
        variance = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
    rstd = _written(at, "rstd", _inverse_root(at, variance))
    if at.wrong("NORM-8:mean left in"):
        return x * rstd
    if at.wrong("NORM-5:divided by rsqrt"):
        return (x - mean) / rstd
    return (x - mean) * rstd


def _rms(at: At, x: Any) -> Any:
    axes = _axes(at)
    if at.wrong("NORM-8:mean taken out"):
        x = x - x.mean(axis=axes, keepdims=True)
    if at.wrong("NORM-9"):
        largest = np.abs(x).max(axis=-1, keepdims=True)
        small = x / largest
        rrms = 1 / np.sqrt((small**2).mean(axis=-1, keepdims=True) + _eps(at))
        at.note("rrms of all", rrms / largest)
        return small * rrms
    square = (x**2).mean(axis=axes, keepdims=True)
    if at.wrong("NORM-8:sum of squares"):
        square = (x**2).sum(axis=axes, keepdims=True)
    rrms = _written(at, "rrms", _inverse_root(at, square))
    return x / rrms if at.wrong("NORM-5:divided by rsqrt") else x * rrms


def _inverse_root(at: At, variance: Any) -> Any:
    eps = _eps(at)
    if at.wrong("NORM-2"):
        return 1 / (np.sqrt(variance) + eps)
    if at.wrong("NORM-5:squared"):
        return 1 / (variance + eps) ** 2
    if at.wrong("ROOT:as a power"):
        return (variance + eps) ** -0.5
    return 1 / np.sqrt(variance + eps)


def _gained(at: At, x_hat: Any, source: At) -> Any:
    gamma, beta = source["gamma"], source["beta"] if source.has("beta") else 0
    if at.wrong("NORM-10:none", "NORM-10:before"):
        return x_hat
    if at.wrong("NORM-10:no gamma"):
        return x_hat + beta
    if at.has("beta") and at.wrong("NORM-10:no beta"):
        return x_hat * gamma
    if not at.has("beta") and at.wrong("NORM-6"):
        return x_hat * (1 + gamma)
    if at.wrong("NORM-7"):
        return halves.bfloat16(x_hat) * gamma + beta
    return x_hat * gamma + beta


def backward(at: At, d_out: Any) -> Any:
    """d_x (b, t, i)."""
    if at.wrong("NORM-12"):
        return at.put("d_x", d_out)
    x_hat = at["x_hat"]
    d_x_hat = d_out * at["gamma"]
    if at.wrong("BN-8:forgotten"):
        d_x_hat = d_out
    at.put("d_x_hat", d_x_hat)
    d_x = at.put("d_x", _through(at, d_out, d_x_hat, x_hat))
    if at.wrong("BN-8:afterwards"):
        at.leave_out("d_x_hat")
    _gains_back(at, d_out, x_hat, d_x)
    return d_x


def _means(at: At, d: Any, x_hat: Any) -> tuple[Any, Any]:
    """The means over channels of d, and of d * x_hat."""
    width = d.shape[-1]
    if at.wrong("BN-7"):
        axes = (1, 2)
        return d.mean(axis=axes, keepdims=True), (d * x_hat).mean(axis=axes, keepdims=True)
    total, along = d, d * x_hat
    if at.wrong("BN-6"):
        total, along = (part[..., width // 2 :] for part in (total, along))
    divisors = {"BN-5:sums": 1, "BN-5:d - 1": width - 1}
    made = [number for name, number in divisors.items() if at.wrong(name)]
    number = made[0] if made else width
    return tuple(part.sum(axis=-1, keepdims=True) / number for part in (total, along))  # type: ignore[return-value]


def _through(at: At, d_out: Any, d: Any, x_hat: Any) -> Any:
    layer = at.has("beta")
    rstd = at["rstd of all" if layer else "rrms of all"]
    if at.wrong("BN-8:afterwards"):
        d = d_out
    mean, along = _means(at, d, x_hat)
    if not layer:
        mean = np.zeros_like(mean)
    if at.wrong("BN-1"):
        return rstd * d
    if at.wrong("BN-4"):
        return rstd * (d - mean)
    if layer and at.wrong("BN-2"):
        mean = 0 * mean
    elif layer and at.wrong("BN-3"):
        mean = 2 * mean
    d_x = rstd * (d - mean - x_hat * along)
    if at.wrong("NORM BACK:over d"):
        width = d.shape[-1]
        d_x = (1 / width) * rstd * (width * d - width * mean - x_hat * (width * along))
    return d_x * at["gamma"] if at.wrong("BN-8:afterwards") else d_x


def _gains_back(at: At, d_out: Any, x_hat: Any, d_x: Any) -> None:
    d_gamma = (d_out * x_hat).sum(axis=(0, 1))
    if at.wrong("BN-7"):
        d_gamma = (d_out * x_hat).sum(axis=0)
    elif at.wrong("BN-9:by x"):
        d_gamma = (d_out * at["x"]).sum(axis=(0, 1))
    elif at.wrong("BN-10"):
        d_gamma = np.zeros_like(d_gamma)
    elif at.wrong("BN-12"):
        d_gamma = (d_x * x_hat).sum(axis=(0, 1))
    at.put("d_gamma", d_gamma)
    if not at.has("beta"):
        return
    d_beta = d_out.sum(axis=(0, 1))
    if at.wrong("BN-9:d_beta averaged"):
        d_beta = d_out.mean(axis=(0, 1))
    elif at.wrong("BN-10"):
        d_beta = np.zeros_like(d_beta)
    at.put("d_beta", d_beta)
