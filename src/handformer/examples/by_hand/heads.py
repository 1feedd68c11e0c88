"""Several heads: side by side, and grouped around fewer keys and values."""

from math import exp, log, sqrt

import numpy as np

from handformer.examples.example import Example, Run, Scalars, Step, Values
from handformer.examples.running import chain, layer, op
from handformer.formula import Sheet
from handformer.layers.multi_head import MultiHeadAttention
from handformer.ops import masked_attention

# Head 0 sees the identity example; head 1's queries are 0.
R = 1 / sqrt(2)
P = exp(R) / (exp(R) + 1)
Q = 1 / (exp(R) + 1)


def _two_heads(values: Values) -> MultiHeadAttention:
    return MultiHeadAttention(
        values["w_q"], values["w_k"], values["w_v"], values["w_o"],
        b_q=None, b_k=None, b_v=None, b_o=None, n_heads=2, n_kv_heads=2,
    )  # fmt: skip


TWO_HEADS = Example(
    name="two-heads",
    title="Two heads: one that chooses and one that averages",
    words=(
        "Width 4, two heads of width 2: head 0 owns the columns 0 and 1 of `w_q`, `w_k` and "
        "`w_v`, head 1 the columns 2 and 3. In head 0 all is as in the example identity. The "
        "columns of head 1 in `w_q` are 0: it asks for nothing, so it finds every key equally "
        "good."
    ),
    inputs={
        "x": np.array([[1.0, 0.0, 4.0, 0.0], [0.0, 1.0, 0.0, 2.0]]),
        "w_q": np.diag([1.0, 1.0, 0.0, 0.0]),
        "w_k": np.eye(4),
        "w_v": np.eye(4),
        "w_o": np.roll(np.eye(4), 1, axis=1),
    },
    code=layer(_two_heads),
    steps=(
        Step("q", "Each head cuts its own columns out of `x` times `w_q`.", ((0, 1, 1), (1, 0, 0))),
        Step("k", "The keys, cut in the same way."),
        Step("v", "And the values."),
        Step("scores", "Each head compares on its own.", ((0, 0, 0), (1, 0, 0))),
        Step(
            "attn",
            "Head 0 prefers the token itself; head 1, with equal scores, takes half of each. "
            "Nothing is hidden here, so every entry of the mask is true.",
            ((0, 0, 0), (1, 0, 0)),
        ),
        Step(
            "context",
            "What each head takes from its own values. (`attn_kept` is `attn` after dropout, "
            "which is off.)",
            ((0, 0, 1), (1, 0, 1)),
        ),
        Step(
            "out",
            "The heads stand side by side in one row of width 4, and `w_o` mixes them: this one "
            "moves each number one place on. It isn't symmetric, so a transposed `w_o` would "
            "show.",
            ((0, 0), (0, 1)),
        ),
    ),
    expected={
        "q": (((1.0, 0.0), (0.0, 1.0)), ((0.0, 0.0), (0.0, 0.0))),
        "k": (((1.0, 0.0), (0.0, 1.0)), ((4.0, 0.0), (0.0, 2.0))),
        "v": (((1.0, 0.0), (0.0, 1.0)), ((4.0, 0.0), (0.0, 2.0))),
        "scores": (((R, 0.0), (0.0, R)), ((0.0, 0.0), (0.0, 0.0))),
        "attn": (((P, Q), (Q, P)), ((0.5, 0.5), (0.5, 0.5))),
        "context": (((P, Q), (Q, P)), ((2.0, 1.0), (2.0, 1.0))),
        "out": ((1.0, P, Q, 2.0), (1.0, Q, P, 2.0)),
    },
    lesson=(
        "The root is that of the head's width, 2, not of the model's, 4: with sqrt(4) head 0 "
        f"would give {exp(0.5) / (exp(0.5) + 1):.4f} for {P:.4f}."
    ),
)


def _all_visible(values: Values, scalars: Scalars) -> Run:
    shape = (*values["q"].shape[:-1], values["k"].shape[-2])
    return Run(Sheet(()), {"mask": np.full(shape, True), "keep": np.full(shape, True)}, scalars)


GROUPED_HEADS = Example(
    name="grouped-heads",
    title="Grouped heads: four queries read two sets of keys and values",
    words=(
        "Four query heads, but only two heads of keys and values: query heads 0 and 1 read the "
        "first, 2 and 3 the second (h // group, with two to a group). One query, two keys, `d_k` "
        "= 1. The keys are logarithms, so that the weights come out as simple fractions."
    ),
    inputs={
        "q": np.array([[[1.0]], [[0.0]], [[1.0]], [[0.0]]]),
        "k": np.array([[[0.0], [log(3)]], [[0.0], [log(4)]]]),
        "v": np.array([[[8.0], [4.0]], [[10.0], [0.0]]]),
        "d_context": np.ones((4, 1, 1)),
    },
    code=chain(_all_visible, op(masked_attention, b="")),
    scalars={"d_k": 1, "group": 2, "rate": 0.0},
    steps=(
        Step("scores", "Head 1 reads the same keys as head 0.", ((0, 0, 1), (1, 0, 1), (2, 0, 1))),
        Step(
            "attn", "1 to 3 in head 0, 1 to 4 in head 2; half and half where q is 0.", ((2, 0, 1),)
        ),
        Step(
            "context", "The same weights, half and half, on other values.", ((1, 0, 0), (3, 0, 0))
        ),
        Step(
            "d_v",
            "On the way back, a value gets the sum over all heads that read it.",
            ((0, 0, 0), (1, 1, 0)),
        ),
    ),
    expected={
        "scores": (((0.0, log(3)),), ((0.0, 0.0),), ((0.0, log(4)),), ((0.0, 0.0),)),
        "attn": (((1 / 4, 3 / 4),), ((1 / 2, 1 / 2),), ((1 / 5, 4 / 5),), ((1 / 2, 1 / 2),)),
        "context": (((5.0,),), ((6.0,),), ((2.0,),), ((5.0,),)),
        "d_v": (((3 / 4,), (5 / 4,)), ((7 / 10,), (13 / 10,))),
    },
    lesson="Keys and values take the most memory while a text is written; here it is half.",
)
