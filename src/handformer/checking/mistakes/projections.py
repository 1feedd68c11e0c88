"""Mistakes in making q, k and v: section 3 of the catalogue."""

from handformer.checking.mistakes.lines import ATTENTION, HEADS, each
from handformer.checking.mistakes.mistake import Edit, Mistake

_SIDES = {"q": "h", "k": "g", "v": "g"}
_ORDERS = ("kqv", "kvq", "qvk", "vkq", "vqk")
_Q, _KV = "n_heads * d_k", "n_kv_heads * d_k"  # columns of each matrix
_GROUP = "(group + 2) * d_k"  # columns of a group's q, k and v together


def _weight(name: str) -> str:
    return f"w_{name}[i,{_SIDES[name]} * d_k + c]"


def _bias(name: str) -> str:
    return f"b_{name}[{_SIDES[name]} * d_k + c]"


def _other_weights(name: str, weight: str, bias: str, says: str = "") -> tuple[Edit, ...]:
    """A projection by another matrix, and its bias."""
    return (
        Edit(name, f"{_weight(name)} -> {weight}", ATTENTION, says),
        Edit(name, f"{_bias(name)} -> {bias}", HEADS, says),
    )


def _by(name: str, other: str) -> tuple[Edit, ...]:
    """A projection by the matrix of another one."""
    head = _SIDES[name]
    return _other_weights(name, f"w_{other}[i,{head} * d_k + c]", f"b_{other}[{head} * d_k + c]")


def _order(form: str) -> tuple[Edit, ...]:
    says = f"as {', '.join(form)}"
    edits = [edit for one, other in zip("qkv", form, strict=True) if one != other
             for edit in _by(one, other)]  # fmt: skip
    return tuple(Edit(one.line, one.change, one.layers, says) for one in edits)


def _column(name: str) -> str:
    """Where a column of a projection lies if all three lie in thirds."""
    return {
        "q": "(h * d_k + c)",
        "k": f"({_Q} + g * d_k + c)",
        "v": f"({_Q} + {_KV} + g * d_k + c)",
    }[name]


def _grouped_column(name: str) -> str:
    """Where it lies if q, k and v of each group lie side by side."""
    return {
        "q": f"(h // group * {_GROUP} + h % group * d_k + c)",
        "k": f"(g * {_GROUP} + group * d_k + c)",
        "v": f"(g * {_GROUP} + (group + 1) * d_k + c)",
    }[name]


def _of_thirds(array: str, at: str) -> str:
    """A column of one array that holds all three in thirds; `array` has `?` for its letter."""
    q, k, v = (array.replace("?", name) for name in "qkv")
    return (
        f"where({at} < {_Q}, {q}{at}], where({at} < {_Q} + {_KV}, "
        f"{k}{at} - {_Q}], {v}{at} - {_Q} - {_KV}]))"
    )


def _of_groups(array: str, at: str) -> str:
    """A column of one that holds them by groups."""
    q, k, v = (array.replace("?", name) for name in "qkv")
    group, inside = f"{at} // ({_GROUP})", f"{at} % ({_GROUP})"
    return (
        f"where({inside} < group * d_k, {q}{group} * group * d_k + {inside}], "
        f"where({inside} < (group + 1) * d_k, {k}{group} * d_k + {inside} - group * d_k], "
        f"{v}{group} * d_k + {inside} - (group + 1) * d_k]))"
    )


def _fused(says: str, *, read_by_groups: bool) -> tuple[Edit, ...]:
    """q, k and v from one matrix that is laid out in one way and read in the other."""
    column, stored = (
        (_grouped_column, _of_thirds) if read_by_groups else (_column, _of_groups)
    )  # fmt: skip
    edits: list[Edit] = []
    for name in "qkv":
        weight, bias = stored("w_?[i,", column(name)), stored("b_?[", column(name))
        edits += _other_weights(name, weight, bias, says)
    return tuple(edits)


def _one_for_all() -> tuple[Edit, ...]:
    """x split into heads, and one small matrix for all of them."""
    edits: list[Edit] = []
    for name, head in _SIDES.items():
        for source in ("x", "memory") if name != "q" else ("x",):
            at = f"b,{'t' if name == 'q' else 's'}"
            edits.append(
                Edit(
                    name,
                    f"{source}[{at},i] * {_weight(name)} -> "
                    f"where(i < d_k, {source}[{at},{head} * d_k + i] * w_{name}[i,c + 0], 0)",
                    HEADS,
                )
            )
        edits.append(Edit(name, f"{_bias(name)} -> b_{name}[c + 0]", HEADS))
    return tuple(edits)


_NO_BIASES = (("q", f"{_bias('q')} -> 0"), ("k", f"{_bias('k')} -> 0"), ("v", f"{_bias('v')} -> 0"))

PROJECTIONS = (
    Mistake(
        "QKV-1",
        "The {}.",
        "Make q, k and v each from the layer's input, each with a matrix of its own.",
        (
            Edit(
                "v",
                "x[b,s,i] -> k[b,i // d_k,s,i % d_k]",
                HEADS,
                "values were made of the keys, not of the input",
            ),
            Edit(
                "v",
                "memory[b,s,i] -> k[b,i // d_k,s,i % d_k]",
                HEADS,
                "values were made of the keys, not of the memory",
            ),
            Edit("v", "v[b,g,s,c] = k[b,g,s,c]", HEADS, "keys were taken for the values"),
            Edit(
                "v",
                "v[s,c] = k[s,c]",
                says="keys were taken for the values",
                layers=("SingleHeadAttention",),
            ),
            *(
                tuple(
                    Edit(one.line, one.change, one.layers, "values were made by the keys' matrix")
                    for one in edits
                )
                for edits in (_by("v", "k"),)
            ),
            Edit(
                "v",
                "w_v[i,c] -> w_k[i,c]",
                ("SingleHeadAttention",),
                "values were made by the keys' matrix",
            ),
            each(
                ("CrossAttention",),
                ("k", "memory[b,s,i] -> x[b,s,i]"),
                ("v", "memory[b,s,i] -> x[b,s,i]"),
                says="keys and values were made of the queries' side, not of the memory",
            ),
        ),
    ),
    Mistake(
        "QKV-2",
        "The thirds of one matrix for q, k and v were taken {}.",
        "Take them in the order in which the weights hold them: q, k, v.",
        tuple(_order(form) for form in _ORDERS),
    ),
    Mistake(
        "QKV-3",
        "The columns of one matrix for q, k and v lie {}.",
        "Ask how the weights lie, and take columns apart accordingly.",
        (
            _fused("in thirds, and were read head by head", read_by_groups=True),
            _fused("head by head, and were read in thirds", read_by_groups=False),
        ),
    ),
    Mistake(
        "QKV-4",
        "The input was split into heads first, and one matrix of {d_k} columns made all heads.",
        "Multiply by the whole matrix first, then split into heads.",
        (_one_for_all(),),
    ),
    Mistake(
        "QKV-5",
        "The bias was left out.",
        "Add it: these weights have one.",
        (
            each(HEADS, *_NO_BIASES),
            *(Edit(name, change, HEADS) for name, change in _NO_BIASES),
            Edit("out", "b_o[i] -> 0", HEADS),
            Edit("pre", "b_up[f] -> 0"),
            Edit("out", "b_down[i] -> 0"),
            Edit("pre", "b[j] -> 0"),
            Edit("out", "bias[n] -> 0"),
        ),
    ),
    Mistake(
        "QKV-6",
        "The matrix was used transposed: x @ w.T where its rows are inputs.",
        "Here a matrix is (inputs, outputs): x @ w.",
        (
            each(
                HEADS,
                *(
                    (name, f"w_{name}[i,{head} * d_k + c] -> w_{name}[{head} * d_k + c,i]")
                    for name, head in _SIDES.items()
                ),
            ),
        ),
    ),
    Mistake(
        "QKV-7",
        "Keys and values were made of what goes into the norm before attention, not of what comes "
        "out of it.",
        "All three, q, k and v, are made of the norm's output.",
        (
            each(
                ("MultiHeadAttention",),
                ("k", "x[b,s,i] -> block.x[b,s,i]"),
                ("v", "x[b,s,i] -> block.x[b,s,i]"),
            ),
        ),
    ),
    Mistake(
        "QKV-8",
        "There is a ReLU behind the projections.",
        "Queries, keys and values are linear in the input: leave it out.",
        (
            each(
                HEADS,
                ("q", "q[b,h,t,c] = where(q[b,h,t,c] > 0, q[b,h,t,c], 0)"),
                ("k", "k[b,g,s,c] = where(k[b,g,s,c] > 0, k[b,g,s,c], 0)"),
                ("v", "v[b,g,s,c] = where(v[b,g,s,c] > 0, v[b,g,s,c], 0)"),
            ),
        ),
    ),
)
