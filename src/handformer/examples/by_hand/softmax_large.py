"""The softmax of numbers whose exponentials no computer holds."""

from math import e, exp

import numpy as np

from handformer.examples.example import Example, Step
from handformer.examples.running import op
from handformer.ops import softmax

# With the maximum taken out, the row is (-2, -1, 0).
TOTAL = exp(-2) + exp(-1) + 1
A, B, C = exp(-2) / TOTAL, exp(-1) / TOTAL, 1 / TOTAL

SOFTMAX_LARGE = Example(
    name="softmax-large",
    title="Softmax of large numbers: no overflow",
    words=(
        "exp(1000) is a number of 435 digits: more than a float64 holds (it ends at exp(709), a "
        "float32 at exp(88)). But softmax depends only on differences. With the row's greatest "
        "number taken out first, every exponent is 0 or below, and nothing can overflow."
    ),
    inputs={
        "scores": np.array([[1000.0, 1001.0, 1002.0]]),
        "d_attn": np.array([[0.0, 0.0, 1.0]]),
    },
    code=op(softmax, x="scores", y="attn", b="t", j="s", i="r"),
    steps=(
        Step("top", "The greatest number of the row.", ((0,),)),
        Step("total", "The sum of the exponentials, the greatest of which is 1.", ((0,),)),
        Step("attn", "Each is e times the one before: 1 to e to e^2.", ((0, 0), (0, 2))),
        Step(
            "d_scores",
            "How the last weight changes with each number: up with its own, down with the "
            "others, 0 together.",
            ((0, 0), (0, 2)),
        ),
    ),
    expected={
        "top": (1002.0,),
        "total": (TOTAL,),
        "attn": ((A, B, C),),
        "d_scores": ((-A * C, -B * C, (A + B) * C),),
    },
    lesson=(
        f"The numbers 0, 1 and 2 have the same softmax, {1 / (1 + e + e * e):.4f}, "
        f"{e / (1 + e + e * e):.4f} and {e * e / (1 + e + e * e):.4f}. Does your own code give it "
        "for 1000, 1001 and 1002, without a warning?"
    ),
)
