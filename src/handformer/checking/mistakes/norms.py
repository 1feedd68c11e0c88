"""Mistakes in LayerNorm and RMSNorm: section 10 of the catalogue."""

from handformer.checking.mistakes.lines import LAYER, NORMS, RMS, each, rounded_of_any_sign
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_CENTRED, _PLAIN = "(x[b,t,i] - mean[b,t]) ** 2", "x[b,t,i] ** 2"
_VARIANCES = (("rstd", _CENTRED, LAYER), ("rrms", _PLAIN, RMS))


def _variance(change: str, says: str = "") -> tuple[Edit, ...]:
    """An edit of the root of both norms; `V` stands for what is averaged."""
    return tuple(
        Edit(line, change.replace("V", square), layers, says) for line, square, layers in _VARIANCES
    )


def _statistics(own: str, at: str, over: str, says: str) -> tuple[Edit, ...]:
    """Statistics over other axes; `at` is the place, in letters that `over` runs over."""
    x, y = f"x[{at}]", f"x[{_other(at)}]"
    mean = f"mean({over}, {x})"
    again = f"mean({_other(over)}, {y})"
    left = f"x_hat[{own}] = "
    variance = f"mean({over}, ({x} - {again}) ** 2)"
    return (
        Edit("x_hat", f"{left}(x[{own}] - {mean}) / sqrt({variance} + eps)", LAYER, says),
        Edit("x_hat", f"{left}x[{own}] / sqrt(mean({over}, {x} ** 2) + eps)", RMS, says),
    )


def _other(letters: str) -> str:
    """The same with other letters to run over."""
    return letters.replace("r", "u").replace("j", "f").replace("l", "n")


def _before(line: str, layers: tuple[str, ...]) -> Edit:
    gained = "x[b,t,i] * gamma[i] + beta[i]" if layers == LAYER else "x[b,t,i] * gamma[i]"
    return Edit(line, f"x[b,t,i] -> ({gained})", layers)


_WITHOUT_MEAN = "x[b,t,i] -> (x[b,t,i] - mean(j, x[b,t,j]))"
_RRMS_WITHOUT_MEAN = "mean(i, x[b,t,i] ** 2) -> mean(i, (x[b,t,i] - mean(j, x[b,t,j])) ** 2)"
_LARGEST = "max(j, sqrt(x[b,t,j] ** 2))"

NORM = (
    Mistake(
        "NORM-1",
        "The variance is divided by {d_model - 1}, as a sample's is.",
        "Divide by {d_model}: a norm's variance is the mean of the squares.",
        _variance("mean(i, V) -> sum(i, V) / (d_model - 1)"),
    ),
    Mistake(
        "NORM-2",
        "eps was added to the root, not under it.",
        "Divide by sqrt(variance + eps): it shows where the variance is small.",
        _variance("sqrt(mean(i, V) + eps) -> (sqrt(mean(i, V)) + eps)"),
    ),
    Mistake(
        "NORM-3",
        "eps is {}.",
        "Read it from the config: here it is {eps}.",
        tuple(
            edit
            for value in ("0.00001", "0.000001", "0.00000001", "0.000000000001", "0.001", "0")
            for edit in _variance(f"eps -> {value}", f"{float(value):.0e}".replace("e-0", "e-"))
        ),
    ),
    Mistake(
        "NORM-4",
        "Mean and variance run over {}, not over the {d_model} channels of each token.",
        "Take both over the last axis only.",
        (
            *_statistics("b,t,i", "b,r,i", "r", "the tokens"),
            *_statistics("b,t,i", "b,r,j", "r, j", "tokens and channels together"),
            *_statistics("e,t,i", "l,t,i", "l", "the batch"),
        ),
    ),
    Mistake(
        "NORM-5",
        "{}.",
        "Divide by the root of the variance, or multiply by its inverse.",
        (
            *_variance(
                "sqrt(mean(i, V) + eps) -> (mean(i, V) + eps) ** 2",
                "The variance was squared where its root is meant: ** 2 for ** 0.5",
            ),
            *_variance(
                "sqrt(mean(i, V) + eps) -> (mean(i, V) + eps)", "The variance's root wasn't taken"
            ),
            *(
                Edit(
                    "x_hat",
                    f"{x} * {root} -> {x} / {root}",
                    layers,
                    "It was divided by the inverse of the root",
                )
                for x, root, layers in (
                    ("(x[b,t,i] - mean[b,t])", "rstd[b,t]", LAYER),
                    ("x[b,t,i]", "rrms[b,t]", RMS),
                )
            ),
        ),
    ),
    Mistake(
        "NORM-6",
        "The gain is 1 + gamma, as in models that keep gamma - 1.",
        "Here gamma is the gain itself.",
        (Edit("out", "gamma[i] -> (1 + gamma[i])", NORMS),),
    ),
    Mistake(
        "NORM-7",
        "What the norm gives was rounded to {} before gamma.",
        "Round after the gain, or not at all.",
        tuple(
            Edit(
                "out", f"x_hat[b,t,i] -> ({rounded_of_any_sign('x_hat[b,t,i]', bits)})", NORMS, name
            )
            for bits, name in ((7, "bfloat16"), (10, "float16"))
        ),
    ),
    Mistake(
        "NORM-8",
        "{}.",
        "LayerNorm subtracts the mean, RMSNorm doesn't, and both divide by the root of a mean.",
        (
            each(
                RMS,
                ("rrms", _RRMS_WITHOUT_MEAN),
                ("x_hat", _WITHOUT_MEAN),
                says="The mean was subtracted, which RMSNorm doesn't do",
            ),
            Edit("x_hat", _WITHOUT_MEAN, RMS, "The mean was subtracted, which RMSNorm doesn't do"),
            Edit("x_hat", "x[b,t,i] - mean[b,t] -> x[b,t,i]", LAYER, "The mean wasn't subtracted"),
            each(
                LAYER,
                ("rstd", "x[b,t,i] - mean[b,t] -> x[b,t,i]"),
                ("x_hat", "x[b,t,i] - mean[b,t] -> x[b,t,i]"),
                says="The mean wasn't subtracted",
            ),
            *_variance("mean(i, V) -> sum(i, V)", "Squares were added up, not averaged"),
        ),
    ),
    Mistake(
        "NORM-9",
        "The input was made smaller to keep its squares in range, and eps wasn't.",
        "Divide eps by the square of the same factor.",
        (
            Edit(
                "x_hat",
                f"x_hat[b,t,i] = x[b,t,i] / sqrt(mean(f, x[b,t,f] ** 2) + eps * {_LARGEST} ** 2)",
                RMS,
            ),
            Edit("rrms", f"eps -> eps * {_LARGEST} ** 2", RMS),
        ),
    ),
    Mistake(
        "NORM-10",
        "{}.",
        "Normalise first, then multiply by gamma and add beta.",
        (
            Edit("out", "out[b,t,i] = x_hat[b,t,i]", NORMS, "Gamma and beta weren't applied"),
            Edit("out", "gamma[i] -> 1", LAYER, "Gamma wasn't applied"),
            Edit("out", "beta[i] -> 0", LAYER, "Beta wasn't added"),
            *(
                tuple(
                    Edit(one.line, one.change, one.layers, "Gamma was applied before normalising")
                    for one in (
                        *(_before(line, layers) for line in lines),
                        Edit("out", "out[b,t,i] = x_hat[b,t,i]", layers),
                    )
                )
                for lines, layers in ((("mean", "rstd", "x_hat"), LAYER), (("rrms", "x_hat"), RMS))
            ),
        ),
    ),
    Mistake(
        "NORM-11",
        "Queries and keys were normalised after they were turned.",
        "Normalise them first, each head by itself.",
        shows=Shows.NOWHERE,
        why="no model here normalises its queries and keys",
    ),
    Mistake(
        "NORM-12",
        "The norm isn't called: its output is its input.",
        "Call it.",
        (Edit("out", "out[b,t,i] = x[b,t,i]", NORMS),),
    ),
)
