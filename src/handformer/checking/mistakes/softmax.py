"""Mistakes in the softmax, and in dropout: section 7 of the catalogue."""

from handformer.checking.mistakes.lines import ALONE, HEADS, filled, softmax
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows

_OVERFLOW, _UNDERFLOW = "88.72284", "-103.97208"  # beyond them float32's exp is inf, and 0
_DROPOUT = ("Dropout",)
_SEEN = "mask[b,h,t,s]"
_EVERY = "sum(l, g, r, u, where(mask[l,g,r,u], exp(scores[l,g,r,u]), 0))"
_OF_A_HEAD = "sum(r, u, where(mask[b,h,r,u], exp(scores[b,h,r,u]), 0))"
_ITSELF = softmax("attn[b,h,t,@]")
_ITSELF_MASKED = softmax(filled("-1e9", score="attn[b,h,t,@]"))


def _attn(change: str, says: str = "") -> Edit:
    return Edit("attn", change, HEADS, says)


def _along(axis: str, says: str) -> Edit:
    """The softmax along another axis, of masked scores."""
    left = "e,h,t,s" if axis == "e" else "b,h,t,s"
    at = left.replace(axis, "@")
    score = filled("-1e9", f"mask[{at}]", f"scores[{at}]")
    return _attn(f"attn[{left}] = {softmax(score, axis)}", says)


def _exp(score: str, top: str = "0") -> str:
    """exp as float32 has it, where nothing or the wrong number was taken out first."""
    x = f"({score} - {top})" if top != "0" else score
    return f"where({x} > {_OVERFLOW}, inf, where({x} < {_UNDERFLOW}, 0, exp({x})))"


def _unsafe(top: str = "0") -> str:
    """Attention by such an exp."""
    one, other = (_exp(f"scores[b,h,t,{letter}]", top) for letter in "sr")
    row = f"sum(r, where(mask[b,h,t,r], {other}, 0))"
    any_key = "max(u, where(mask[b,h,t,u], 1, 0)) > 0"
    return f"attn[b,h,t,s] = where({_SEEN}, {one}, 0) / where({any_key}, {row}, 1)"


def _unsafe_row(top: str = "0") -> Edit:
    """The same of a softmax that stands alone."""
    one, other = _exp("x[b,j]", top), _exp("x[b,i]", top)
    return Edit("y", f"y[b,j] = {one} / sum(i, {other})", ("Softmax",))


def _kept(change: str, says: str = "") -> tuple[Edit, ...]:
    """An edit of dropout, on the weights of attention and elsewhere."""
    return (
        Edit("attn_kept", change, HEADS, says),
        Edit("out", change, _DROPOUT, says),
    )


_CAPPED = "max(u, where(mask[b,h,t,u] and scores[b,h,t,u] > 0, scores[b,h,t,u], 0))"
_DROPPED = "where(keep[b,h,t,@], scores[b,h,t,@] / (1 - rate), 0)"

SOFTMAX = (
    Mistake(
        "SM-1",
        "The softmax runs over {}, not over the keys.",
        "Take it over the last axis, the keys: each query's weights sum to 1.",
        (
            _along("t", "the queries: each key's column sums to 1, and the future leaks into it"),
            _along("h", "the heads"),
            _along("e", "the rows of the batch"),
            Edit(
                "attn",
                f"attn[t,s] = {softmax('scores[@,s]', 't')}",
                ALONE,
                "the queries: each key's column sums to 1, and the future leaks into it",
            ),
            Edit("y", f"y[e,j] = {softmax('x[@,j]', 'e')}", ("Softmax",), "the rows"),
        ),
    ),
    Mistake(
        "SM-2",
        "Weights were divided by {}.",
        "Divide each row by its own sum: sum over the last axis, and keep that axis.",
        (
            _attn(
                f"attn[e,h,t,s] = where(mask[e,h,t,s], exp(scores[e,h,t,s]) / {_EVERY}, 0)",
                "the sum over the whole array",
            ),
            _attn(
                f"attn[b,h,t,s] = where({_SEEN}, exp(scores[b,h,t,s]) / {_OF_A_HEAD}, 0)",
                "the sum over all queries of a head",
            ),
            _attn(
                "total[b,h,t] -> total[b,h,s]",
                "the sum of another query's row: the sum's axis isn't kept",
            ),
            Edit(
                "attn",
                "total[t] -> total[s]",
                ALONE,
                "the sum of another query's row: the sum's axis isn't kept",
            ),
            Edit(
                "attn",
                "attn[t,s] = exp(scores[t,s]) / sum(r, u, exp(scores[r,u]))",
                ALONE,
                "the sum over the whole array",
            ),
        ),
    ),
    Mistake(
        "SM-3",
        "exp left the range of float32: the row's maximum wasn't taken out first.",
        "Subtract each row's largest score before exp.",
        (_attn(_unsafe()), _unsafe_row()),
    ),
    Mistake(
        "SM-4",
        "Of a row's largest score only what is positive was taken out: exp is 0 for all of a row "
        "that lies far below 0.",
        "Subtract the largest score whatever its sign: begin the maximum at -inf, not at 0.",
        (
            _attn(_unsafe(_CAPPED)),
            _unsafe_row("max(m, where(x[b,m] > 0, x[b,m], 0))"),
        ),
    ),
    Mistake(
        "SM-5",
        "The additional column that takes up attention is missing.",
        "Append it before the softmax, and drop it afterwards.",
        shows=Shows.NOWHERE,
        why="no model here has such a column",
    ),
    Mistake(
        "SM-6",
        "{}.",
        "Scale the scores, take the softmax, and nothing after it.",
        (
            _attn(f"attn[b,h,t,s] = {_ITSELF}", "The softmax was taken twice"),
            _attn(
                f"attn[b,h,t,s] = where({_SEEN}, {_ITSELF_MASKED}, 0)",
                "The softmax was taken twice",
            ),
            Edit(
                "attn", f"attn[t,s] = {softmax('attn[t,@]')}", ALONE, "The softmax was taken twice"
            ),
            _attn(
                "attn[b,h,t,s] = attn[b,h,t,s] / sqrt(d_k)",
                "The weights were divided by {sqrt(d_k)} after the softmax",
            ),
            Edit(
                "attn",
                "attn[t,s] = attn[t,s] / sqrt(d_k)",
                ALONE,
                "The weights were divided by {sqrt(d_k)} after the softmax",
            ),
        ),
    ),
    Mistake(
        "DROP-1",
        "What dropout leaves was {}.",
        "Divide what is left by {1 - rate}, the part that is kept.",
        (
            *_kept("1 - rate -> 1 / rate", "multiplied by {rate}, the part that is dropped"),
            *_kept("1 - rate -> rate", "divided by {rate}, the part that is dropped"),
            *_kept("1 - rate -> 1", "not scaled"),
        ),
    ),
    Mistake(
        "DROP-2",
        "Dropout was applied to {}.",
        "Apply it to the weights of attention, after the softmax.",
        (
            _attn(
                f"attn[b,h,t,s] = where({_SEEN}, {softmax(filled('-1e9', score=_DROPPED))}, 0)",
                "the scores, before the softmax",
            ),
        ),
    ),
    Mistake(
        "DROP-3",
        "Dropout isn't applied.",
        "Call it: the layer was built, and not used.",
        (
            Edit("attn_kept", "attn_kept[b,h,t,s] = attn[b,h,t,s]", HEADS),
            Edit("out", "out[b,t,i] = x[b,t,i]", _DROPOUT),
        ),
    ),
    Mistake(
        "DROP-4",
        "Dropout is applied, though this isn't training.",
        "Switch it off for evaluation.",
    ),
)
