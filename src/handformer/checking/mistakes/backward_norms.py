"""Mistakes in the norms' way back: section 14d of the catalogue."""

from handformer.checking.mistakes.lines import LAYER, NORMS, RMS
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_MEAN = "mean(j, d_x_hat[b,t,j])"
_ALONG = "mean(j, d_x_hat[b,t,j] * x_hat[b,t,j])"
_LAST = "mean(j, where(j >= d_model // 2, {}, 0))"
_FIRST_TERMS = f"d_x_hat[b,t,i] - {_MEAN}"


def _layer(change: str, says: str = "") -> Edit:
    return Edit("d_x", change, LAYER, says)


def _rms(change: str, says: str = "") -> Edit:
    return Edit("d_x", change, RMS, says)


def _whole(gradient: str) -> tuple[Edit, ...]:
    """The line anew with something else in the place of d_x_hat; gamma comes last."""
    other = gradient.replace(",i]", ",j]")
    along = f"x_hat[b,t,i] * mean(j, {other} * x_hat[b,t,j])"
    return (
        _layer(f"d_x[b,t,i] = rstd[b,t] * ({gradient} - mean(j, {other}) - {along}) * gamma[i]"),
        _rms(f"d_x[b,t,i] = rrms[b,t] * ({gradient} - {along}) * gamma[i]"),
    )


def _means(mean: str, along: str, says: str = "") -> tuple[tuple[Edit, ...], ...]:
    """Something else in the place of both means."""
    return (
        (_layer(f"{_MEAN} -> {mean}", says), _layer(f"{_ALONG} -> {along}", says)),
        (_rms(f"{_ALONG} -> {along}", says),),
    )


_SUMMED = ("sum(j, d_x_hat[b,t,j])", "sum(j, d_x_hat[b,t,j] * x_hat[b,t,j])")

BACKWARD_NORMS = (
    Mistake(
        "BN-1",
        "Mean and variance were treated as constants: both terms for them are missing.",
        "They depend on the input: subtract mean(d_x_hat) and x_hat * mean(d_x_hat * x_hat).",
        (
            _layer("d_x[b,t,i] = rstd[b,t] * d_x_hat[b,t,i]"),
            _rms("d_x[b,t,i] = rrms[b,t] * d_x_hat[b,t,i]"),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-2",
        "The term for the mean is missing.",
        "Subtract mean(d_x_hat).",
        (_layer(f"{_FIRST_TERMS} -> d_x_hat[b,t,i]"),),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-3",
        "The term for the mean was subtracted twice.",
        "Subtract mean(d_x_hat) once.",
        (_layer(f"{_FIRST_TERMS} -> d_x_hat[b,t,i] - 2 * {_MEAN}"),),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-4",
        "The term for the variance is missing.",
        "Subtract x_hat * mean(d_x_hat * x_hat).",
        (
            _layer(f"d_x[b,t,i] = rstd[b,t] * ({_FIRST_TERMS})"),
            _rms("d_x[b,t,i] = rrms[b,t] * d_x_hat[b,t,i]"),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-5",
        "The means on the way back {}.",
        "Divide both sums by {d_model}.",
        (
            *_means(*_SUMMED, "are sums"),
            *_means(
                f"{_SUMMED[0]} / (d_model - 1)",
                f"{_SUMMED[1]} / (d_model - 1)",
                "are divided by {d_model - 1}, not by {d_model}",
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-6",
        "The sums over channels hold the last part of the channels only.",
        "Add up over all {d_model} channels: each part adds to the sum of those before it.",
        _means(_LAST.format("d_x_hat[b,t,j]"), _LAST.format("d_x_hat[b,t,j] * x_hat[b,t,j]")),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-7",
        "The means run over tokens and channels together.",
        "Take them over the channels of each token: the last axis.",
        _means("mean(r, j, d_x_hat[b,r,j])", "mean(r, j, d_x_hat[b,r,j] * x_hat[b,r,j])"),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-8",
        "Gamma was {}.",
        "Multiply by gamma first: d_x_hat = d_out * gamma.",
        (
            Edit("d_x_hat", "d_x_hat[b,t,i] = d_out[b,t,i]", NORMS, "forgotten"),
            *(
                Edit(one.line, one.change, one.layers, "applied at the end, not before the means")
                for one in _whole("d_out[b,t,i]")
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-9",
        "{}.",
        "d_gamma = sum(d_out * x_hat), and d_beta = sum(d_out), over all rows and places.",
        (
            Edit(
                "d_gamma",
                "x_hat[b,t,i] -> x[b,t,i]",
                NORMS,
                "d_gamma was made with the input, not with what the norm makes of it",
            ),
            Edit(
                "d_beta",
                "d_beta[i] = mean(b, t, d_out[b,t,i])",
                LAYER,
                "d_beta is a mean, not a sum",
            ),
            Edit(
                "d_gamma",
                "d_gamma[i] = mean(b, t, d_out[b,t,i] * x_hat[b,t,i])",
                NORMS,
                "d_gamma is a mean, not a sum",
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-10",
        "The gradient of the norm's weight is 0: it was never written.",
        "Add it up on the way back.",
        (
            Edit("d_gamma", "d_gamma[i] = 0", NORMS),
            Edit("d_beta", "d_beta[i] = 0", LAYER),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-11",
        "What comes back around the layer went through the norm too.",
        "Add it behind the norm: d_skip + norm(d_branch).",
        tuple(
            Edit("d_x_hat", f"d_out[b,t,i] -> (d_out[b,t,i] + block.{skip}[b,t,i])", NORMS)
            for skip in ("d_out", "d_mid")
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BN-12",
        "d_gamma was made with the gradient of the input: that was written over the output's.",
        "Work out d_gamma first, or write the input's gradient elsewhere.",
        (
            Edit("d_gamma", "d_out[b,t,i] -> d_x[b,t,i]", NORMS),
            Edit("d_beta", "d_out[b,t,i] -> d_x[b,t,i]", LAYER),
        ),
        Shows.GRADIENTS,
    ),
)
