"""Self-attention with the identity for every weight: the whole mechanism, and nothing else."""

from math import exp, sqrt

import numpy as np

from handformer.examples.example import Example, Step, Values
from handformer.examples.running import layer
from handformer.layers.single_head import SingleHeadAttention

ONE = np.eye(2)
ZERO = (0.0, 0.0)
UNIT = ((1.0, 0.0), (0.0, 1.0))

# A row of scores is (1/sqrt(2), 0), or that turned round: p and q are its softmax.
R = 1 / sqrt(2)
P = exp(R) / (exp(R) + 1)
Q = 1 / (exp(R) + 1)
UNSCALED = exp(1) / (exp(1) + 1)


def _attention(values: Values) -> SingleHeadAttention:
    return SingleHeadAttention(values["w_q"], values["w_k"], values["w_v"], values["w_o"])


IDENTITY = Example(
    name="identity",
    title="Self-attention: two tokens, every weight the identity",
    words=(
        "Attention lets every token look at the others and take from them what it needs. A token "
        "is a row of `x`. From each row come a query (what the token looks for), a key (what it "
        "is found by) and a value (what it gives). Here there are two tokens of width 2, and "
        "every weight is the identity matrix: only the mechanism is left, and each number can be "
        "done on paper."
    ),
    inputs={"x": ONE, "w_q": ONE, "w_k": ONE, "w_v": ONE, "w_o": ONE},
    code=layer(_attention),
    steps=(
        Step(
            "q",
            "The queries: each row of `x` times `w_q`. The identity changes nothing.",
            ((0, 0),),
        ),
        Step("k", "The keys, in the same way from `w_k`."),
        Step("v", "And the values, from `w_v`."),
        Step(
            "scores",
            "How well query t fits key s: the sum of their products. A sum of `d_k` products "
            "grows like the root of `d_k`; divided by that, the scores of wide heads stay in the "
            "range of narrow ones. Each token fits itself, and not the other.",
            ((0, 0), (0, 1)),
        ),
        Step(
            "top",
            "The greatest score of each row. It is taken out before exp, so that exp can't "
            "overflow, and cancels again in the quotient.",
            ((0,),),
        ),
        Step("total", "The sum of exp over each row.", ((0,),)),
        Step(
            "attn",
            "The softmax turns each row of scores into weights: positive, and 1 together. Each "
            f"token takes {P:.5f} from itself and {Q:.5f} from the other.",
            ((0, 0), (0, 1)),
        ),
        Step(
            "context",
            "With these weights each token takes a mean of the values.",
            ((0, 0), (0, 1)),
        ),
        Step("out", "And a last matrix, `w_o`, brings that back to the model's width.", ((0, 1),)),
    ),
    expected={
        "q": UNIT,
        "k": UNIT,
        "v": UNIT,
        "scores": ((R, 0.0), (0.0, R)),
        "top": (R, R),
        "total": (1 + exp(-R), 1 + exp(-R)),
        "attn": ((P, Q), (Q, P)),
        "context": ((P, Q), (Q, P)),
        "out": ((P, Q), (Q, P)),
    },
    lesson=(
        f"`out` is `attn` here. Does your own code give {P:.4f} and {Q:.4f}? Without the division "
        f"by sqrt(2) they would be {UNSCALED:.4f} and {1 - UNSCALED:.4f}. What the identity can't "
        "show: a transposed weight, or a softmax down the columns. For that see two-heads and "
        "causal-mask; for the way back, identity-backward."
    ),
)

S = P * Q * R

IDENTITY_BACKWARD = Example(
    name="identity-backward",
    title="The way back through the identity example: every gradient",
    words=(
        "How much does the first number of the result, L = out[0,0], change with every other "
        "number? So `d_out`, the gradient of `out`, is 1 there and 0 elsewhere. From it each "
        "gradient follows in turn, last step first: `d_z` has the shape of `z` and says how L "
        "changes when an entry of `z` grows."
    ),
    inputs={"x": ONE, "w_q": ONE, "w_k": ONE, "w_v": ONE, "w_o": ONE,
            "d_out": np.array([[1.0, 0.0], [0.0, 0.0]])},
    code=layer(_attention),
    steps=(
        Step(
            "attn",
            f"From the way there (example identity): p = {P:.4f} and q = {Q:.4f} = 1 - p.",
        ),
        Step("d_context", "Back through `w_o`.", ((0, 0),)),
        Step("d_w_o", "And what `w_o` itself gets: its input times what came back.", ((1, 0),)),
        Step("d_attn", "A weight counts as much as the value it lets through.", ((0, 0), (0, 1))),
        Step("d_v", "A value counts as much as the weight with which it was taken.", ((1, 0),)),
        Step(
            "d_scores",
            "Back through the softmax. Its weights sum to 1, so a row of scores can only move "
            "weight from one key to another: each row of `d_scores` sums to 0. "
            f"Here p q = {P * Q:.4f}.",
            ((0, 0), (0, 1)),
        ),
        Step("d_q", "Back through the product of queries and keys, with the same root.", ((0, 0),)),
        Step(
            "d_k",
            "The keys get it from every query that looked at them. (With places, `d_k` is the "
            "gradient of `k`; under the root it is the width of the head.)",
            ((1, 0),),
        ),
        Step("d_x_q", "`x` went three ways. This comes back from the queries.", ((0, 0),)),
        Step("d_x_k", "This comes back from the keys."),
        Step("d_x_v", "And this from the values."),
        Step("d_x", "Where a number was used three times, its gradients add up.", ((0, 0),)),
        Step("d_w_q", "The weights are shared by all tokens: the sum is over t.", ((0, 0),)),
        Step("d_w_k", "So too for the weights of the keys."),
        Step("d_w_v", "And for those of the values.", ((1, 0),)),
    ),
    expected={
        "attn": ((P, Q), (Q, P)),
        "d_context": ((1.0, 0.0), ZERO),
        "d_w_o": ((P, 0.0), (Q, 0.0)),
        "d_attn": ((1.0, 0.0), ZERO),
        "d_v": ((P, 0.0), (Q, 0.0)),
        "d_scores": ((P * Q, -P * Q), ZERO),
        "d_q": ((S, -S), ZERO),
        "d_k": ((S, 0.0), (-S, 0.0)),
        "d_x_q": ((S, -S), ZERO),
        "d_x_k": ((S, 0.0), (-S, 0.0)),
        "d_x_v": ((P, 0.0), (Q, 0.0)),
        "d_x": ((P + 2 * S, -S), (Q - S, 0.0)),
        "d_w_q": ((S, -S), ZERO),
        "d_w_k": ((S, 0.0), (-S, 0.0)),
        "d_w_v": ((P, 0.0), (Q, 0.0)),
    },
    lesson=(
        "Try it: with 1.001 in place of x[0,0] = 1, out[0,0] grows by 0.001 times d_x[0,0] = "
        f"{P + 2 * S:.4f}. Every gradient can be checked like that, and is (selfcheck)."
    ),
)  # fmt: skip
