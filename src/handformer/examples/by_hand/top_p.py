"""Top-p: the fewest tokens that reach a mass together, and the one that crosses it is in."""

from math import inf, log

import numpy as np

from handformer.examples.example import Example, Run, Scalars, Step, Values
from handformer.generate import sampling
from handformer.ops import softmax


def _kept(values: Values, scalars: Scalars) -> Run:
    logits = values["logits"]
    left = sampling.top_p(logits, scalars["mass"])
    again = softmax.FORMULAS.only("top", "total", "y").rename(
        x="top_p", y="drawn_from", top="top_left", total="total_left", b="t", j="n", i="m"
    )
    found = {"probs": softmax.forward(logits), "top_p": left, "drawn_from": softmax.forward(left)}
    return Run(sampling.FORMULAS.rename(b="t") + again, found, scalars)


TOP_P = Example(
    name="top-p",
    title="Top-p: choosing from the most probable nine tenths",
    words=(
        "Four tokens with the chances 0.5, 0.35, 0.1 and 0.05; the `logits` are their logarithms. "
        "Top-p with a `mass` of 0.9 keeps the fewest of the most probable that reach 0.9 "
        "together. The first two have 0.85: not enough. So the third, which crosses 0.9, is kept "
        "too."
    ),
    inputs={"logits": np.log([[0.5, 0.35, 0.1, 0.05]])},
    code=_kept,
    scalars={"mass": 0.9},
    steps=(
        Step("probs", "The softmax gives the chances back.", ((0, 0),)),
        Step("before", "How much chance stands before each token.", ((0, 2), (0, 3))),
        Step("top_p", "A token stays while that is below the mass.", ((0, 2), (0, 3))),
        Step("drawn_from", "What is left is brought to 1 again.", ((0, 2), (0, 3))),
    ),
    expected={
        "probs": ((0.5, 0.35, 0.1, 0.05),),
        "before": ((0.0, 0.5, 0.85, 0.95),),
        "top_p": ((log(0.5), log(0.35), log(0.1), -inf),),
        "drawn_from": ((10 / 19, 7 / 19, 2 / 19, 0.0),),
    },
    lesson=(
        "A rule that keeps only what lies wholly within the mass would lose the third, and with a "
        "mass of 0.4 would leave nothing at all to draw from."
    ),
)
