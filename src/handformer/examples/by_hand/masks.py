"""What may not be seen: later tokens, and a row from which everything is hidden."""

from math import exp, inf, log

import numpy as np

from handformer.examples.example import Example, Run, Scalars, Step, Values
from handformer.examples.running import chain, op
from handformer.formula import Sheet
from handformer.ops import masked_attention, masked_softmax, masks

LEAST = 1 / (1 + exp(2))  # the smaller weight of two scores that lie 2 apart


def _one_head(values: Values, scalars: Scalars) -> Run:
    """The mask as the one head sees it, and no dropout."""
    visible = values["causal"][None]
    return Run(Sheet(()), {"mask": visible, "keep": np.full(visible.shape, True)}, scalars)


CAUSAL_MASK = Example(
    name="causal-mask",
    title="The causal mask: three tokens, none of which sees a later one",
    words=(
        "A model that writes must not look ahead: token t sees the tokens up to t. One head of "
        "width 1 (its number, 0, is the first index). Every query is 1 and the keys are "
        "logarithms of 1, 2 and 3, so the weights are as 1 to 2 to 3. For the way back, L = "
        "context[0,1,0]."
    ),
    inputs={
        "q": np.ones((1, 3, 1)),
        "k": np.array([[[0.0], [log(2)], [log(3)]]]),
        "v": np.array([[[6.0], [3.0], [0.0]]]),
        "d_context": np.array([[[0.0], [1.0], [0.0]]]),
    },
    code=chain(op(masks.causal, mask="causal"), _one_head, op(masked_attention, b="")),
    scalars={"n_queries": 3, "n_keys": 3, "d_k": 1, "group": 1, "rate": 0.0},
    steps=(
        Step("causal", "True where the query t may see the key s.", ((0, 1), (2, 1))),
        Step("scores", "All scores are computed, those of later tokens too.", ((0, 1, 2),)),
        Step("total", "But the softmax runs over the visible ones.", ((0, 1), (0, 2))),
        Step(
            "attn",
            "1; 1 to 2; 1 to 2 to 3. What is hidden is exactly 0, not nearly.",
            ((0, 1, 1), (0, 2, 2), (0, 1, 2)),
        ),
        Step("context", "Token 0 sees only itself.", ((0, 0, 0), (0, 1, 0))),
        Step("d_scores", "The way back: no gradient passes where nothing was seen.", ((0, 1, 0),)),
        Step("d_v", "So the last token has no part in what token 1 took.", ((0, 1, 0),)),
    ),
    expected={
        "causal": ((True, False, False), (True, True, False), (True, True, True)),
        "scores": (((0.0, log(2), log(3)),) * 3,),
        "total": ((1.0, 3 / 2, 2.0),),
        "attn": (((1.0, 0.0, 0.0), (1 / 3, 2 / 3, 0.0), (1 / 6, 1 / 3, 1 / 2)),),
        "context": (((6.0,), (4.0,), (2.0,)),),
        "d_scores": (((0.0, 0.0, 0.0), (2 / 3, -2 / 3, 0.0), (0.0, 0.0, 0.0)),),
        "d_v": (((1 / 3,), (2 / 3,), (0.0,)),),
    },
    lesson=(
        "The rows of `attn` sum to 1, its columns don't: a softmax down the columns would show "
        "here. A mask that hides the token itself as well (s < t) would leave the first row empty."
    ),
)

HIDDEN_ROW = Example(
    name="hidden-row",
    title="A row from which everything is hidden",
    words=(
        "With padding it happens that a query may see no key at all. A softmax of nothing would "
        "be 0/0. The right answer is a row of zeros, there and back: such a query takes nothing "
        "and teaches nothing."
    ),
    inputs={
        "scores": np.array([[0.0, log(3)], [5.0, 7.0]]),
        "mask": np.array([[True, True], [False, False]]),
        "d_attn": np.array([[1.0, 0.0], [1.0, 0.0]]),
    },
    code=op(masked_softmax, x="scores", y="attn", b="t", j="s", i="r"),
    steps=(
        Step("top", "Hidden scores are -inf; so is the greatest of none.", ((0,), (1,))),
        Step("total", "The sum over nothing is 0.", ((0,), (1,))),
        Step("attn", "The first row is 1 to 3, the second is nothing.", ((0, 1), (1, 1))),
        Step("d_scores", "And no NaN on the way back.", ((0, 0), (1, 0))),
    ),
    expected={
        "top": (log(3), -inf),
        "total": (4 / 3, 0.0),
        "attn": ((1 / 4, 3 / 4), (0.0, 0.0)),
        "d_scores": ((3 / 16, -3 / 16), (0.0, 0.0)),
    },
    lesson=(
        f"A mask of -10000 in place of -inf would give the second row {LEAST:.4f} and "
        f"{1 - LEAST:.4f}, as if nothing had been hidden: both scores move by the same amount."
    ),
)
