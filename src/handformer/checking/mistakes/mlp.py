"""Mistakes in the MLP and its activation: section 11 of the catalogue."""

from handformer.checking.mistakes.lines import gelu, gelu_tanh, inner, relu, sigmoid
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_MLP, _GATED, _HEAD = ("MLP",), ("GatedMLP",), ("MaskedTokenHead",)
_PRE, _GATE, _HEAD_PRE = "pre[b,t,f]", "gate[b,t,f]", "pre[b,t,j]"
_PLACES = ((_MLP, "post[b,t,f]", _PRE), (_HEAD, "post[b,t,j]", _HEAD_PRE),
           (_GATED, "act[b,t,f]", _GATE))  # fmt: skip
_DOWN = "(sum(f, pre[b,t,f] * w_down[f,i]) + b_down[i])"


def _activation(text: str, says: str) -> tuple[Edit, ...]:
    """Another activation, wherever there is one; `X` stands for what goes into it."""
    return tuple(
        Edit(left.partition("[")[0], f"{left} = {text.replace('X', x)}", layers, says)
        for layers, left, x in _PLACES
    )


def _part(old: str, new: str, says: str = "", line: str = "") -> tuple[Edit, ...]:
    """A part of the activation's line, or of an abbreviation in it."""
    return tuple(
        Edit(line or left.partition("[")[0], f"{old} -> {new}".replace("X", x), layers, says)
        for layers, left, x in _PLACES
    )


def _gelu_for(old: str, layers: tuple[str, ...], line: str, x: str) -> tuple[Edit, ...]:
    return tuple(
        Edit(line, f"{old} -> {one}", layers, "GELU")
        for one in (f"({gelu(x)})", f"({gelu_tanh(x)})")
    )


_CDF = "cdf[b,t,f]", "cdf[b,t,j]", "cdf[b,t,f]"
_BY_TANH = "(1 + tanh({})) / 2"

MLPS = (
    Mistake(
        "FFN-1",
        "GELU was computed {}: the two differ by up to 0.00047.",
        "Take the form that the weights were trained with.",
        (
            *(
                Edit(
                    left.partition("[")[0],
                    f"tanh({left.replace('post', 'inner').replace('act', 'inner')}) -> "
                    f"erf({x} / sqrt(2))",
                    layers,
                    "by erf, where it is meant by tanh",
                )
                for layers, left, x in _PLACES
            ),
            *(
                Edit(
                    left.partition("[")[0],
                    f"{cdf} -> {_BY_TANH.format(inner(x))}",
                    layers,
                    "by tanh, where it is meant by erf",
                )
                for (layers, left, x), cdf in zip(_PLACES, _CDF, strict=True)
            ),
        ),
    ),
    Mistake(
        "FFN-2",
        "A constant of GELU is wrong: {}.",
        "By tanh: sqrt(2 / pi) * (x + 0.044715 * x ** 3); by erf: x / sqrt(2).",
        (
            *_part("0.044715", "0.44715", "0.44715 for 0.044715", "inner"),
            *_part("sqrt(2 / pi)", "sqrt(2 * pi)", "sqrt(2 * pi) for sqrt(2 / pi)", "inner"),
            *_part("sqrt(2 / pi)", "2 / pi", "2 / pi for sqrt(2 / pi)", "inner"),
            *_part("X / sqrt(2)", "X", "x isn't divided by sqrt(2)", "cdf"),
        ),
    ),
    Mistake(
        "FFN-3",
        "The activation is {}.",
        "Read from the config which one it is.",
        (
            *_activation(f"X * ({sigmoid('X')})", "SiLU"),
            *_activation(
                f"X * ({sigmoid('X', '1.702 * ')})", "the quick GELU, x * sigmoid(1.702 x)"
            ),
            *_activation(relu("X"), "ReLU"),
            *_gelu_for(relu(_PRE), _MLP, "post", _PRE),
            *_gelu_for("gate[b,t,f] * sigma[b,t,f]", _GATED, "act", _GATE),
        ),
    ),
    Mistake(
        "FFN-4",
        "The activation is on the other branch: on the one that is multiplied, not on the gate.",
        "silu(x @ w_gate) * (x @ w_up).",
        tuple(
            (
                Edit("act", f"act[b,t,f] = {text}", _GATED),
                Edit("post", "up[b,t,f] -> gate[b,t,f]", _GATED),
            )
            for text in (f"up[b,t,f] * ({sigmoid('up[b,t,f]')})", gelu("up[b,t,f]"))
        ),
    ),
    Mistake(
        "FFN-5",
        "The activation is applied to the product of both branches: a parenthesis is in the wrong "
        "place.",
        "Apply it to the gate, then multiply.",
        tuple(
            Edit("post", f"post[b,t,f] = {text}", _GATED)
            for text in (
                f"gate[b,t,f] * up[b,t,f] * ({sigmoid('(gate[b,t,f] * up[b,t,f])')})",
                gelu("(gate[b,t,f] * up[b,t,f])"),
            )
        ),
    ),
    Mistake(
        "FFN-6",
        "The second branch is missing: this is the activation alone.",
        "Multiply it by x @ w_up.",
        (Edit("post", "post[b,t,f] = act[b,t,f]", _GATED),),
    ),
    Mistake(
        "FFN-7",
        "{}.",
        "The activation stands between the two matrices, and only there.",
        (
            Edit("post", f"post[b,t,f] = {_PRE}", _MLP, "The activation is missing"),
            Edit("post", f"post[b,t,j] = {_HEAD_PRE}", _HEAD, "The activation is missing"),
            Edit("act", f"act[b,t,f] = {_GATE}", _GATED, "The activation is missing"),
            *(
                Edit(
                    "out",
                    f"out[b,t,i] = {text(_DOWN)}",
                    _MLP,
                    "The activation comes after the second matrix",
                )
                for text in (gelu, gelu_tanh, relu)
            ),
            Edit(
                "out",
                f"out[b,t,i] = {relu('out[b,t,i]')}",
                (*_MLP, *_GATED),
                "There is an activation after the second matrix too",
            ),
        ),
    ),
    Mistake(
        "FFN-8",
        "ReLU is used, whatever the setting says.",
        "Use the activation that is asked for.",
        _activation(relu("X"), ""),
    ),
    Mistake(
        "FFN-9",
        "The hidden width is wrong: {d_model}, or rounded otherwise.",
        "Read it from the config: here it is {d_ff}.",
        shows=Shows.NOWHERE,
        why="values have another shape then, which is what the check says of them",
    ),
)
