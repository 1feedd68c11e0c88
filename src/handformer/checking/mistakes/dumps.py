"""What is no mistake of the model, but of writing it down: section 23 of the catalogue."""

from handformer.checking.mistakes.lines import ALONE, HEADS, softmax
from handformer.checking.mistakes.mistake import Edit, Mistake, Shows
from handformer.checking.mistakes.sums import BIASES, MATRICES

_SEEN = "where(mask[b,h,t,r], exp(scores[b,h,t,r]), 0)"
_IDS = (("tokens", "b,t"), ("targets", "b,t"), ("positions", "b,t"), ("source", "b,s"),
        ("source_positions.positions", "b,s"))  # fmt: skip
_STEPS = ("1", "0.1", "0.01", "0.001", "0.0001")
_SUMMED = tuple(dict.fromkeys((one.line, one.axes) for one in (*MATRICES, *BIASES)))


def _updated(step: str) -> tuple[Edit, ...]:
    weights = (
        *((line.removeprefix("d_"), axes) for line, axes in _SUMMED),
        ("table", "n,i"), ("gamma", "i"), ("beta", "i"),
    )  # fmt: skip
    return tuple(
        Edit(name, f"{name}[{axes}] = {name}[{axes}] - {step} * later.d_{name}[{axes}]", (), step)
        for name, axes in dict.fromkeys(weights)
    )


DUMPS = (
    Mistake(
        "DUMP-1",
        "The numbers were written by columns: the axes lie the other way around.",
        "Write them by rows, or say in the dump that they lie by columns.",
    ),
    Mistake(
        "DUMP-2",
        "These numbers count from 1.",
        "Count from 0 in the dump.",
        tuple(
            Edit(
                name,
                f"{name}[{axes}] = where({name}[{axes}] < 0, {name}[{axes}], {name}[{axes}] + 1)",
            )
            for name, axes in _IDS
        ),
    ),
    Mistake(
        "DUMP-3",
        "The matrix was written as (outputs, inputs).",
        "Write it as (inputs, outputs), and so its gradient.",
        tuple(
            Edit(name, f"{name}[i,j] = {name}[j,i]")
            for name in ("w_q", "w_k", "w_v", "w_o", "d_w_q", "d_w_k", "d_w_v", "d_w_o", "d_w", "w")
        ),
    ),
    Mistake(
        "DUMP-4",
        "It was dumped after something else had been written over it: {}.",
        "Write the value down before its memory is used again, or copy it.",
        (
            Edit(
                "scores",
                "scores[b,h,t,s] = where(mask[b,h,t,s], exp(scores[b,h,t,s]) / "
                f"sum(r, {_SEEN}), scores[b,h,t,s])",
                HEADS,
                "the weights of attention",
            ),
            Edit(
                "scores",
                f"scores[t,s] = {softmax('scores[t,@]')}",
                ALONE,
                "the weights of attention",
            ),
            *(
                Edit(
                    name,
                    f"{name}[b,h,t,s] = attn[b,h,t,s] * ({name}[b,h,t,s] - "
                    f"sum(r, {name}[b,h,t,r] * attn[b,h,t,r]))",
                    HEADS,
                    "the gradient of the scores",
                )
                for name in ("d_attn_kept", "d_attn")
            ),
            Edit(
                "d_attn",
                "d_attn[t,s] = attn[t,s] * (d_attn[t,s] - sum(r, d_attn[t,r] * attn[t,r]))",
                ALONE,
                "the gradient of the scores",
            ),
        ),
    ),
    Mistake(
        "DUMP-5",
        "The weight was dumped after an update, by a step of {}.",
        "Write weights down before the update.",
        tuple(edit for step in _STEPS for edit in _updated(step)),
        Shows.WEIGHTS,
    ),
    Mistake(
        "DUMP-6",
        "The loss is a sum over targets, not their mean, and so are all gradients.",
        "Divide by the number of targets that count: {count}.",
        (
            Edit("loss", "loss = sum(b, t, losses[b,t])", ("CrossEntropy",)),
            Edit("d_logits", "where(count > 0, count, 1) -> 1", ("CrossEntropy",)),
        ),
    ),
    Mistake(
        "DUMP-7",
        "Rows and heads are in one axis, or the axis of heads stands elsewhere.",
        "Write (b, h, t, c), or say in the dump how it lies.",
    ),
    Mistake(
        "DUMP-8",
        "Hidden scores hold another number.",
        "Nothing has to be done: what the mask hides isn't compared.",
        shows=Shows.NOWHERE,
        why="what the mask hides isn't compared",
    ),
)
