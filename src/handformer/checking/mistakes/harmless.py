"""What looks wrong in one value, while all that follows is right: section 24 of the catalogue."""

from handformer.checking.mistakes.lines import attention
from handformer.checking.mistakes.mistake import Edit, Mistake

_ROTARY = ("MultiHeadAttention",)

HARMLESS = (
    Mistake(
        "SAME-SCALED-QUERY",
        "The query was divided by {sqrt(d_k)}, and the scores aren't.",
        "Nothing has to be done: the scores are the same.",
        (
            *attention("q", "q[b,h,t,c] = q[b,h,t,c] / sqrt(d_k)"),
            *attention("q_rot", "q_rot[b,h,t,c] = q_rot[b,h,t,c] / sqrt(d_k)")[:1],
            *attention("d_q", "d_q[b,h,t,c] = d_q[b,h,t,c] * sqrt(d_k)"),
            *attention("d_q_rot", "d_q_rot[b,h,t,c] = d_q_rot[b,h,t,c] * sqrt(d_k)")[:1],
            *attention("q", "q[b,h,t,c] = q[b,h,t,c] / sqrt(sqrt(d_k))"),
            *attention("k", "k[b,g,s,c] = k[b,g,s,c] / sqrt(sqrt(d_k))"),
            *attention("d_q", "d_q[b,h,t,c] = d_q[b,h,t,c] * sqrt(sqrt(d_k))"),
            *attention("d_k", "d_k[b,g,s,c] = d_k[b,g,s,c] * sqrt(sqrt(d_k))"),
        ),
    ),
    Mistake(
        "SAME-KEY-BIAS",
        "The keys have no bias.",
        "Nothing has to be done: it adds the same number to all scores of a query.",
        (Edit("k", "b_k[g * d_k + c] -> 0", ("MultiHeadAttention", "CrossAttention")),),
    ),
    Mistake(
        "SAME-ROTARY-PLACES",
        "All positions are one too many, or begin at another number.",
        "Nothing has to be done: scores depend on the distance of two positions.",
        tuple(
            tuple(
                Edit(line, f"positions[b,t] -> (positions[b,t] + {more})", _ROTARY)
                for line in ("cos", "sin")
            )
            for more in ("1", "2")
        ),
    ),
    Mistake(
        "SAME-ALIBI",
        "The bias grows with the key's place, and doesn't fall with the distance.",
        "Nothing has to be done: in a row both differ by one number.",
        (Edit("bias", "bias[h,t,s] = slope[h] * s", _ROTARY),),
    ),
    Mistake(
        "SAME-MASK-OF-HIDDEN",
        "The mask says what is hidden, not what is seen.",
        "Nothing has to be done, if it is used like that.",
        (
            Edit("mask", "mask[b,t,s] = mask[b,t,s] == 0"),
            Edit("*.mask", "mask[b,t,s] -> mask[b,t,s] == 0"),
            Edit("*.mask", "source_valid[b,s] -> source_valid[b,s] == 0"),
            Edit("mask", "mask[b,h,t,s] = mask[b,h,t,s] == 0", _ROTARY),
        ),
    ),
)

# The same numbers, computed in another way, which rounds otherwise.
ALIKE = (
    Mistake(
        "SAME-KEY-BIAS-BACK",
        "The keys have no bias.",
        "Nothing has to be done: a row of d_scores sums to 0, so it adds nothing.",
        (
            Edit(
                "d_q",
                "k[b,h // group,s,c] -> (k[b,h // group,s,c] - b_k[h // group * d_k + c])",
                ("MultiHeadAttention", "CrossAttention"),
            ),
        ),
    ),
    Mistake(
        "SAME-ROW-TERM",
        "What is taken off in each row was computed from the context and its gradient.",
        "Nothing has to be done: the sum is the same, and rounded otherwise.",
        (
            Edit(
                "d_scores",
                "sum(r, d_attn[b,h,t,r] * attn[b,h,t,r])"
                " -> sum(c, d_context[b,h,t,c] * context[b,h,t,c])",
            ),
        ),
    ),
)
