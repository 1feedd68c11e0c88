"""Mistakes in attention's way back: section 14c of the catalogue."""

from handformer.checking.mistakes.heads import scrambled
from handformer.checking.mistakes.lines import ATTENTION, FLASH, HEADS, attention
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows
from handformer.checking.mistakes.sums import OWN

_ALL = (*HEADS, *FLASH)
_COLUMN = "sum(r, d_attn[b,h,r,s] * attn[b,h,r,s])"
_GROUP = "h // group == g"
_SEES_ALL = "(exp(scores[b,h,t,{0}]) / sum(u, exp(scores[b,h,t,u])))"
_NUMBERS = {"q": ("h", "t", "n_heads", "n_queries"), "k": ("g", "s", "n_kv_heads", "n_keys"),
            "v": ("g", "s", "n_kv_heads", "n_keys")}  # fmt: skip
_TURN = ("c < d_k // 2", "c % 2 == 0")


def _scores(change: str, says: str = "") -> tuple[Edit, ...]:
    return attention("d_scores", f"d_scores[b,h,t,s] = {change}", says)


def _grouped(new: str, says: str) -> tuple[Edit, ...]:
    """Another condition for which query heads a key's head serves."""
    return tuple(
        Edit(f"d_{name}", f"{_GROUP} -> {new}", _ALL, says) for name in ("k", "k_rot", "v")
    )


def _merged(name: str) -> tuple[Edit, ...]:
    """The heads' gradients merged without exchanging axes, on the way to x and to the weights."""
    head, place, heads, places = _NUMBERS[name]

    def at(column: str) -> str:
        flat = f"({place} * {heads} * d_k + {column})"
        return f"d_{name}[b,{flat} // ({places} * d_k),{flat} // d_k % {places},{flat} % d_k]"

    old = f"d_{name}[b,{head},{place},c]"
    lines = ("d_x_q", "d_x") if name == "q" else (f"d_x_{name}", f"d_memory_{name}")
    return (
        *(Edit(line, f"{old} -> {at(f'{head} * d_k + c')}", _ALL) for line in lines),
        *(
            Edit(line, f"d_{name}[b,j // d_k,{place},j % d_k] -> {at('j')}", _ALL)
            for line in (f"d_w_{name}", f"d_b_{name}")
        ),
    )


BACKWARD_ATTENTION = (
    Mistake(
        "BA-1",
        "Only the diagonal of the softmax's derivative was used: attn * (1 - attn) * d_attn. Its "
        "rows don't sum to 0.",
        "attn * (d_attn - sum(d_attn * attn)): every weight depends on all scores of its row.",
        _scores("attn[b,h,t,s] * (1 - attn[b,h,t,s]) * d_attn[b,h,t,s]"),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-2",
        "In the softmax's derivative the sum over the row is {}.",
        "attn * (d_attn - sum(d_attn * attn)), summed over the keys of each query.",
        (
            *_scores("attn[b,h,t,s] * d_attn[b,h,t,s]", "missing"),
            *_scores(f"attn[b,h,t,s] * (d_attn[b,h,t,s] - {_COLUMN})", "taken over the queries"),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-3",
        "The gradient went through the softmax unchanged.",
        "attn * (d_attn - sum(d_attn * attn)).",
        _scores("d_attn[b,h,t,s]"),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-4",
        "On the way back it was divided by {sqrt(d_k)} {}.",
        "Divide by it once, as on the way forward: in d_q and in d_k.",
        (
            *(
                Edit(f"d_{name}", f"sqrt(d_k) -> {other}", ATTENTION, says)
                for other, says in (("1", "never"), ("d_k", "twice"))
                for name in ("q", "k", "q_rot", "k_rot")
            ),
            *_scores("d_scores[b,h,t,s] / sqrt(d_k)", "in d_scores already"),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-5",
        "On the way back dropout {}.",
        "Divide what was kept by {1 - rate}, as on the way forward.",
        tuple(
            Edit(line, f"1 - rate -> {other}", layers, says)
            for other, says in (
                ("1 / rate", "multiplies by {rate}, the part that is dropped"),
                ("rate", "divides by {rate}, the part that is dropped"),
                ("1", "doesn't scale"),
            )
            for line, layers in (("d_attn", HEADS), ("d_x", ("Dropout",)))
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-6",
        "{}.",
        "Take the dropped weights' gradient out first, then go through the softmax with the "
        "weights before dropout.",
        (
            Edit(
                "d_scores",
                "d_scores[b,h,t,s] = attn_kept[b,h,t,s] * (d_attn[b,h,t,s] - "
                "sum(r, d_attn[b,h,t,r] * attn_kept[b,h,t,r]))",
                HEADS,
                "The softmax's derivative was taken at the weights after dropout",
            ),
            Edit(
                "d_attn",
                "d_attn[b,h,t,s] = d_attn_kept[b,h,t,s] / (1 - rate)",
                HEADS,
                "Dropped weights have a gradient",
            ),
            Edit(
                "d_attn",
                "d_attn[b,h,t,s] = d_attn_kept[b,h,t,s]",
                HEADS,
                "The gradient didn't go through dropout",
            ),
            Edit(
                "d_x",
                "d_x[b,t,i] = d_out[b,t,i] / (1 - rate)",
                ("Dropout",),
                "What was dropped has a gradient",
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-7",
        "Dropout drew anew on the way back.",
        "Keep what was drawn on the way forward.",
        shows=Shows.GRADIENTS,
    ),
    Mistake(
        "BA-8",
        "Scores that the mask hides have a gradient.",
        "It is 0 there: hidden weights are 0.",
        (
            Edit(
                "d_scores",
                f"d_scores[b,h,t,s] = {_SEES_ALL.format('s')} * (d_attn[b,h,t,s] - "
                f"sum(r, d_attn[b,h,t,r] * {_SEES_ALL.format('r')}))",
                HEADS,
            ),
            Edit(
                "d_scores",
                "d_scores[b,h,t,s] = where(mask[b,h,t,s], d_scores[b,h,t,s], d_attn[b,h,t,s])",
                HEADS,
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-9",
        "The gradient of a key's or value's head {}.",
        "Add up what all {group} query heads of its group ask of it.",
        (
            *_grouped("h == g * group", "is that of the first query head of its group"),
            *_grouped("h == g * group + group - 1", "is that of the last query head of its group"),
            *_grouped("h % n_kv_heads == g", "is that of query heads of other groups"),
            *(
                Edit(
                    f"d_{name}",
                    f"d_{name}[b,g,s,c] = d_{name}[b,g,s,c] / group",
                    _ALL,
                    "is the mean of its group's, not the sum",
                )
                for name in ("k_rot", "k", "v")
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-10",
        "{}.",
        "d_v = attn.T @ d_context, and d_k = d_scores.T @ q.",
        (
            *(
                edit
                for weights in ("attn_kept", "attn")
                for edit in attention(
                    "d_v",
                    f"{weights}[b,h,t,s] -> {weights}[b,h,s,t]",
                    "d_v was made with the weights, not with their transpose",
                )
            ),
            *(
                edit
                for name in ("d_k", "d_k_rot")
                for edit in attention(
                    name,
                    "d_scores[b,h,t,s] -> d_scores[b,h,s,t]",
                    "d_k was made with d_scores, not with its transpose",
                )
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-11",
        "Heads were {} on the way back without exchanging the axes of heads and tokens.",
        "Split and merge as on the way forward: (b, t, h, c), then exchange t and h.",
        (
            Edit(
                "d_context", scrambled("d_context", "h", "t", "n_heads", "n_queries"), _ALL, "split"
            ),
            *(
                Edit(one.line, one.change, one.layers, "merged")
                for name in "qkv"
                for one in _merged(name)
            ),
        ),
        Shows.GRADIENTS,
    ),
    Mistake(
        "BA-12",
        "The gradient {}.",
        "Turn it by the same angle in the other direction.",
        (
            *(
                Edit(
                    f"d_{name}",
                    f"where({first}, 1, -1) -> where({first}, -1, 1)",
                    OWN,
                    "was turned forward once more",
                )
                for name in "qk"
                for first in _TURN
            ),
            Edit("d_q", "d_q[b,h,t,c] = d_q_rot[b,h,t,c]", OWN, "wasn't turned back"),
            Edit("d_k", "d_k[b,g,s,c] = d_k_rot[b,g,s,c]", OWN, "wasn't turned back"),
        ),
        Shows.GRADIENTS,
    ),
)
