"""Mistakes on the way back through activations, sums and tables: section 14e of the catalogue."""

from handformer.checking.mistakes.lines import gelu_slope, gelu_tanh_slope, silu_slope
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_MLP, _GATED, _HEAD, _TABLE = ("MLP",), ("GatedMLP",), ("MaskedTokenHead",), ("Embedding",)
_PRE, _POST, _CROSS = ("PreNormBlock",), ("PostNormBlock", "CrossBlock"), ("CrossBlock",)
# The gradient before an activation, that behind it, what went in, what came out.
_PLACES = (
    (_MLP, "d_pre[b,t,f]", "d_post[b,t,f]", "pre[b,t,f]", "post[b,t,f]"),
    (_HEAD, "d_pre[b,t,j]", "d_post[b,t,j]", "pre[b,t,j]", "post[b,t,j]"),
    (_GATED, "d_gate[b,t,f]", "d_act[b,t,f]", "gate[b,t,f]", "act[b,t,f]"),
)


def _slope(text: str, says: str = "") -> tuple[Edit, ...]:
    """Another derivative: `X` is what went into the activation, `Y` what came out."""
    return tuple(
        Edit(
            left.partition("[")[0], f"{left} = {d} * {text.replace('X', x).replace('Y', y)}",
            layers, says,
        )
        for layers, left, d, x, y in _PLACES
    )  # fmt: skip


def _part(old: str, new: str, says: str) -> tuple[Edit, ...]:
    """A part of the derivative's line; `X` is what went in, `F` its places."""
    return tuple(
        Edit(
            left.partition("[")[0],
            f"{old} -> {new}".replace("X", x).replace("F", x.partition("[")[2].removesuffix("]")),
            layers, says,
        )
        for layers, left, _, x, _ in _PLACES
    )  # fmt: skip


_SIGMA = "sigma[b,t,f] * (1 + gate[b,t,f] * (1 - sigma[b,t,f]))"
_SUMS = (
    ("d_mid", "d_out", "norm_2.d_x", _PRE), ("d_x", "d_mid", "norm_1.d_x", _PRE),
    ("norm_1.d_out", "norm_2.d_x", "mlp.d_x", ("PostNormBlock",)),
    ("d_x", "norm_1.d_x", "attention.d_x", _POST),
    ("norm_2.d_out", "norm_3.d_x", "mlp.d_x", _CROSS),
    ("norm_1.d_out", "norm_2.d_x", "cross.d_x", _CROSS),
)  # fmt: skip
_LAST = "max(l, r, where(tokens[l,r] == n, l * n_queries + r, -1))"
_LOOKED_UP = "d_table_lookup[n,i] = scale * "


def _only(part: int) -> tuple[Edit, ...]:
    """One of both gradients of what was used twice; in a block both places at once."""
    return tuple(
        Edit(line, f"{line}[b,t,i] = {(skip, branch)[part]}[b,t,i]", layers)
        for line, skip, branch, layers in _SUMS
    )


def _alone(line: str, places: str, parts: tuple[str, ...], layers: tuple[str, ...]) -> list[Edit]:
    return [Edit(line, f"{line}[{places}] = {part}[{places}]", layers) for part in parts]


def _lookup(change: str, says: str = "") -> Edit:
    return Edit("d_table_lookup", f"{_LOOKED_UP}{change}", _TABLE, says)


BACKWARD_REST = (
    Mistake(
        "BF-1",
        "The derivative of the activation is wrong: {}.",
        "Both factors of the product have a derivative, and tanh' is 1 - tanh ** 2.",
        (
            *_slope("(1 + tanh(inner[b,t,f])) / 2", "half of the product rule is missing"),
            *_part("cdf[F] + X * density[F]", "cdf[F]", "half of the product rule is missing"),
            Edit(
                "d_gate", f"{_SIGMA} -> sigma[b,t,f]", _GATED, "half of the product rule is missing"
            ),
            Edit(
                "d_gate",
                "d_gate[b,t,f] = d_act[b,t,f] * sigma[b,t,f]",
                _GATED,
                "half of the product rule is missing",
            ),
            *_part(
                "1 - tanh(inner[F]) ** 2", "-tanh(inner[F]) ** 2", "it has -tanh ** 2 for tanh'"
            ),
            *_part(
                "1 - tanh(inner[F]) ** 2",
                "1 + tanh(inner[F]) ** 2",
                "it has 1 + tanh ** 2 for tanh'",
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BF-2",
        "The derivative was taken at the activation's output.",
        "Take it at what went in: keep that from the way forward.",
        (
            *_slope(gelu_tanh_slope("Y")),
            *_slope(gelu_slope("Y")),
            *_slope(silu_slope("Y")),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BF-3",
        "The derivative is that of another activation: {}.",
        "Forward and backward belong together: GELU by erf or by tanh, in both.",
        (
            *_slope(gelu_slope("X"), "of GELU by erf"),
            *_slope(gelu_tanh_slope("X"), "of GELU by tanh"),
            *_slope(silu_slope("X"), "of SiLU"),
            *_slope("where(X > 0, 1, 0)", "of ReLU"),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BF-4",
        "The gradients of the gate and of the other branch are exchanged.",
        "The gate's gradient goes through the activation, the other's is d_post * act.",
        (
            Edit("d_gate", "d_gate[b,t,f] = d_post[b,t,f] * act[b,t,f]", _GATED),
            *(
                Edit("d_up", f"d_up[b,t,f] = d_act[b,t,f] * {slope}", _GATED)
                for slope in (silu_slope("gate[b,t,f]"), gelu_slope("gate[b,t,f]"))
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BR-1",
        "What comes back around the layer was dropped: this is the layer's part alone.",
        "Add both: what went around, and what went through the layer.",
        _only(1),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BR-2",
        "A value that was used more than once has the gradient of one use: `=` for `+=`.",
        "Add up the gradients of all uses.",
        (
            *_only(0),
            *_alone("d_x", "b,t,i", ("d_x_q", "d_x_k", "d_x_v"), ("MultiHeadAttention",)),
            *_alone("d_x", "t,i", ("d_x_q", "d_x_k", "d_x_v"), ("SingleHeadAttention",)),
            *_alone("d_x", "b,t,i", ("d_x_gate", "d_x_up"), _GATED),
            *_alone("d_memory", "b,s,i", ("d_memory_k", "d_memory_v"), ("CrossAttention",)),
            *_alone("d_memory", "b,s,i", ("cross.d_memory",), _CROSS),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BE-1",
        "Of tokens that come again only the last one reached its row of the table.",
        "Add up all of them: `np.add.at`, or a loop; `d_table[ids] += d` keeps one.",
        (
            _lookup(
                "sum(e, t, where(tokens[e,t] == n and e * n_queries + t == "
                f"{_LAST}, d_out[e,t,i], 0))"
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BE-2",
        "The table is used twice, and has only the gradient of {}.",
        "Add both: that of the lookup and that of the head.",
        (
            Edit("d_table", "d_table[n,i] = d_table_lookup[n,i]", _TABLE, "the lookup"),
            Edit("d_table", "d_table[n,i] = d_table_elsewhere[n,i]", _TABLE, "the head"),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BE-3",
        "The embedding's factor {scale} is missing on the way back.",
        "Multiply the gradient by it, as the rows were.",
        (Edit("d_table_lookup", "scale -> 1", _TABLE),),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BE-4",
        "The gradient of the table {}.",
        "Positions are the same in every row of the batch: add up over the rows.",
        (
            Edit(
                "d_table_lookup",
                "d_table_lookup[n,i] = d_table_lookup[n,i] / n_batch",
                _TABLE,
                "is the mean over the batch, not the sum",
            ),
            Edit(
                "d_table_lookup",
                "d_table_lookup[b,n,i] = scale * sum(t, where(tokens[b,t] == n, d_out[b,t,i], 0))",
                _TABLE,
                "is one for each row of the batch",
            ),
            _lookup(
                "sum(t, where(tokens[n_batch - 1,t] == n, d_out[n_batch - 1,t,i], 0))",
                "is that of the last row of the batch",
            ),
            _lookup(
                "sum(t, where(tokens[0,t] == n, d_out[0,t,i], 0))",
                "is that of the first row of the batch",
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BE-5",
        "The row of padding was left out of the table's gradient, or is in it.",
        "Follow the model: the row of padding learns, unless it is said to stay 0.",
        (
            _lookup("where(n == 0, 0, sum(b, t, where(tokens[b,t] == n, d_out[b,t,i], 0)))"),
            Edit("d_table", "d_table[n,i] = where(n == 0, 0, d_table[n,i])", _TABLE),
        ),
        Shows.GRADIENTS,
    ),
)
