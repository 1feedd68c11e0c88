"""Where tokens go in and come out: the embedding's table and the loss."""

from math import exp, log

import numpy as np

from handformer.examples.example import Example, Step
from handformer.examples.running import op
from handformer.ops import cross_entropy, embedding

EMBEDDING = Example(
    name="embedding",
    title="An embedding with a repeated token, and its gradient",
    words=(
        "A table has a row for each entry of the vocabulary, three of width 2 here. The text is "
        "the tokens 2, 0, 2: token 2 comes twice, token 1 not at all."
    ),
    inputs={
        "tokens": np.array([2, 0, 2]),
        "table": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "d_y": np.array([[1.0, 0.0], [0.0, 1.0], [10.0, 20.0]]),
    },
    code=op(embedding, b="t"),
    scalars={"scale": 1},
    steps=(
        Step("y", "Each token takes its row.", ((0, 0), (1, 1))),
        Step(
            "d_table",
            "On the way back the rows of repeated tokens add up. Row 1 gets nothing.",
            ((2, 0), (0, 1), (1, 0)),
        ),
    ),
    expected={
        "y": ((5.0, 6.0), (1.0, 2.0), (5.0, 6.0)),
        "d_table": ((0.0, 1.0), (0.0, 0.0), (11.0, 20.0)),
    },
    lesson="In NumPy, d_table[tokens] += d_y keeps only the last: 10 where 11 is right.",
)

TOTAL = 1 + exp(-4) + exp(-3)  # of the row whose target is ignored

CROSS_ENTROPY = Example(
    name="cross-entropy",
    title="Cross-entropy and its gradient, with an ignored target",
    words=(
        "The loss says how little chance the model gave to what came. Three rows of logits over a "
        "vocabulary of 3. The first holds logarithms of 1, 2 and 5, so the chances are 1/8, 2/8 "
        "and 5/8; the second gives all the same; the third has the target -100: it doesn't count."
    ),
    inputs={
        "logits": np.array([[0.0, log(2), log(5)], [0.0, 0.0, 0.0], [4.0, 0.0, 1.0]]),
        "targets": np.array([2, 0, -100]),
        "d_loss": np.array(1.0),
    },
    code=op(cross_entropy, b="t"),
    scalars={"smoothing": 0, "vocab_size": 3},
    steps=(
        Step("top", "The greatest logit of each row, taken out before exp.", ((0,),)),
        Step("total", "The sums of the exponentials.", ((0,),)),
        Step("probs", "The softmax: the model's chances.", ((0, 2), (1, 0))),
        Step("losses", "Minus the logarithm of the target's chance.", ((0,), (1,), (2,))),
        Step("count", "Two targets count.", ((),)),
        Step("loss", "The mean over those.", ((),)),
        Step(
            "d_logits",
            "The chances less 1 at the target, over the count. Each row sums to 0: what the "
            "target gains, the others lose.",
            ((0, 2), (0, 0), (1, 0), (2, 0)),
        ),
    ),
    expected={
        "top": (log(5), 0.0, 4.0),
        "total": (8 / 5, 3.0, TOTAL),
        "probs": (
            (1 / 8, 2 / 8, 5 / 8),
            (1 / 3, 1 / 3, 1 / 3),
            (1 / TOTAL, exp(-4) / TOTAL, exp(-3) / TOTAL),
        ),
        "losses": (log(8 / 5), log(3), 0.0),
        "count": 2.0,
        "loss": log(24 / 5) / 2,
        "d_logits": ((1 / 16, 1 / 8, -3 / 16), (-1 / 3, 1 / 6, 1 / 6), (0.0, 0.0, 0.0)),
    },
    lesson="A model that knows nothing gives log(vocab_size): "
    f"log(3) = {log(3):.4f} in the second row.",
)
