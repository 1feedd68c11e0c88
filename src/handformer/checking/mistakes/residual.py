"""Mistakes around attention: what becomes of the values, and the ways around (sections 8 and 9)."""

from handformer.checking.mistakes.lines import FLASH, HEADS, NORMS, attention, each
from handformer.checking.mistakes.mistake import Edit, Mistake

_PRE, _POST, _CROSS = ("PreNormBlock",), ("PostNormBlock", "CrossBlock"), ("CrossBlock",)
_ALL = (*HEADS, *FLASH)
_MERGED = "context[b,i // d_k,t,i % d_k]"
_WHOLE = "sum(c, context[b,i // d_k,t,c] * w_o[c + 0,i % d_k])"
# The sums of a block: line, what goes around, what the layer made, in which blocks.
_SUMS = (
    ("mid", "x[b,t,i]", "dropout_1.out[b,t,i]", _PRE),
    ("out", "mid[b,t,i]", "dropout_2.out[b,t,i]", _PRE),
    ("norm_1.x", "x[b,t,i]", "dropout_1.out[b,t,i]", _POST),
    ("norm_2.x", "norm_1.out[b,t,i]", "dropout_2.out[b,t,i]", _POST),
    ("norm_3.x", "norm_2.out[b,t,i]", "dropout_3.out[b,t,i]", _CROSS),
)


def _sums(made: str, says: tuple[str, str] = ("", "")) -> tuple[Edit, ...]:
    """Another sum in each place; `X` is what goes around, `F` what the layer made."""
    return tuple(
        Edit(
            line, f"{line}[b,t,i] = {made.replace('X', skip).replace('F', branch)}", layers,
            says[line in ("out", "norm_2.x", "norm_3.x")],
        )
        for line, skip, branch, layers in _SUMS
    )  # fmt: skip


def _centred(x: str, norm: str, *, layer: bool) -> str:
    """A norm's output of `x`, in which the channel is written `@`; eps is the config's."""
    one, other, third = (x.replace("@", letter) for letter in "ijl")
    mean = f"mean(j, {other})"
    gamma, beta = f"{norm}.gamma[i]", f"{norm}.beta[i]"
    if not layer:
        return f"({one}) / sqrt(mean(j, ({other}) ** 2) + eps) * {gamma}"
    inner = f"mean(l, ({third} - mean(j, {other})) ** 2)"
    return f"({one} - {mean}) / sqrt({inner} + eps) * {gamma} + {beta}"


def _post_norm(line: str, skip: str, branch: str, norm: str, *, layer: bool) -> Edit:
    x = f"{skip} + {branch}".replace(",i]", ",@]")
    return Edit(line, f"{line}[b,t,i] = {_centred(f'({x})', norm, layer=layer)}", _PRE)


def _normed_first(name: str, at: str, source: str) -> Edit:
    """q, k or v of the norm's output, where they are made of what goes into the block."""
    inside = _centred(f"block.x[b,{at},@]", "block.norm_1", layer=True)
    for old, new in (("(j", "(m"), ("(l", "(n"), (",j]", ",m]"), (",l]", ",n]")):
        inside = inside.replace(old, new)
    return Edit(name, f"{source} -> ({inside})", ("MultiHeadAttention",))


CONTEXT = (
    Mistake(
        "CTX-1",
        "{}.",
        "The context is attention @ v: a weighted mean of the values, for each query.",
        (
            *attention(
                "context",
                "v[b,h // group,s,c] -> k[b,h // group,s,c]",
                "The keys were averaged, not the values",
            ),
            Edit(
                "context",
                "v[b,h // group,s,c] -> k_rot[b,h // group,s,c]",
                _ALL,
                "The keys were averaged, not the values",
            ),
            *(
                edit
                for name in ("attn_kept", "attn")
                for edit in attention(
                    "context",
                    f"{name}[b,h,t,s] -> {name}[b,h,s,t]",
                    "The weights of attention were transposed",
                )
            ),
        ),
    ),
    Mistake(
        "CTX-2",
        "What the layer made isn't used: its result went into a variable that nobody reads.",
        "Add it to what goes around the layer.",
        _sums("X"),
    ),
    Mistake(
        "OUT-1",
        "The heads were merged, and not multiplied by w_o.",
        "Multiply the merged heads by w_o.",
        (
            Edit("out", f"out[b,t,i] = {_MERGED}", _ALL),
            Edit("out", f"out[b,t,i] = {_MERGED} + b_o[i]", _ALL),
        ),
    ),
    Mistake(
        "OUT-2",
        "{}.",
        "Multiply the merged heads, {n_heads * d_k} wide, by the whole of w_o.",
        (
            Edit(
                "out", "w_o[h * d_k + c,i] -> w_o[i,h * d_k + c]", _ALL, "w_o was used transposed"
            ),
            Edit(
                "out", "w_o[c,i] -> w_o[i,c]", ("SingleHeadAttention",), "w_o was used transposed"
            ),
            *(
                Edit(
                    "out",
                    f"out[b,t,i] = {_WHOLE}{bias}",
                    _ALL,
                    "One block of w_o served every head",
                )
                for bias in ("", " + b_o[i]")
            ),
        ),
    ),
)

RESIDUAL = (
    Mistake(
        "RES-1",
        "What goes around the layer is the norm's output, not its input.",
        "Keep the input: x + f(norm(x)).",
        (
            each(
                _PRE,
                ("mid", "x[b,t,i] -> norm_1.out[b,t,i]"),
                ("out", "mid[b,t,i] -> norm_2.out[b,t,i]"),
            ),
            Edit("mid", "x[b,t,i] -> norm_1.out[b,t,i]", _PRE),
            Edit("out", "mid[b,t,i] -> norm_2.out[b,t,i]", _PRE),
        ),
    ),
    Mistake(
        "RES-2",
        "What the layer made was added to itself: its input was overwritten.",
        "Keep the input until the sum is made.",
        _sums("F + F"),
    ),
    Mistake(
        "RES-3",
        "Nothing goes around {}.",
        "Add the layer's input to what it made.",
        _sums("F", ("attention", "the layer")),
    ),
    Mistake(
        "RES-4",
        "The norm is in the wrong place: {}.",
        "Ask how the model is built: x + f(norm(x)), or norm(x + f(x)).",
        tuple(
            tuple(Edit(one.line, one.change, one.layers, says) for one in edits)
            for says, edits in (
                *(
                    (
                        "after the sum, where it belongs before the layer",
                        (
                            *(
                                Edit(name, f"{x} -> block.{x}", ("MultiHeadAttention",))
                                for name, x in (
                                    ("q", "x[b,t,i]"),
                                    ("k", "x[b,s,i]"),
                                    ("v", "x[b,s,i]"),
                                )
                            ),
                            _post_norm(
                                "mid", "x[b,t,i]", "dropout_1.out[b,t,i]", "norm_1", layer=layer
                            ),
                            _post_norm(
                                "out", "mid[b,t,i]", "dropout_2.out[b,t,i]", "norm_2", layer=layer
                            ),
                        ),
                    )
                    for layer in (True, False)
                ),
                (
                    "before the layer, where it belongs after the sum",
                    (
                        _normed_first("q", "t", "x[b,t,i]"),
                        _normed_first("k", "s", "x[b,s,i]"),
                        _normed_first("v", "s", "x[b,s,i]"),
                    ),
                ),
            )
        ),
    ),
    Mistake(
        "RES-5",
        "The second half of the block reads the block's input, not what the first half made.",
        "One after the other: norm_2 reads x + attention(norm_1(x)).",
        (
            each(
                NORMS,
                *(
                    (line, "x[b,t,i] -> block.x[b,t,i]")
                    for line in ("mean", "rstd", "rrms", "x_hat")
                ),
            ),
        ),
    ),
    Mistake(
        "RES-6",
        "The first norm's gamma and beta were used for the second norm.",
        "Each norm has its own.",
        (
            each(
                NORMS,
                ("out", "gamma[i] -> block.norm_1.gamma[i]"),
                ("out", "beta[i] -> block.norm_1.beta[i]"),
            ),
        ),
    ),
)
