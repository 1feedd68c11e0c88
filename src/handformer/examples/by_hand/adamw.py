"""One step of AdamW: the first, in which every weight moves by the full rate."""

from math import sqrt

import numpy as np

from handformer.examples.example import Example, Run, Scalars, Step, Values
from handformer.train import optimizer


def _first_step(values: Values, scalars: Scalars) -> Run:
    numbers = {name: scalars[name] for name in ("beta_1", "beta_2", "eps", "weight_decay")}
    before = optimizer.State(0, {"m": {"w": values["m"]}, "v": {"w": values["v"]}})
    weights, after = optimizer.AdamW(**numbers).update(
        {"w": values["w"]}, {"w": values["d_w"]}, before, scalars["lr"]
    )
    found = {
        "m_new": after.moments["m"]["w"],
        "v_new": after.moments["v"]["w"],
        "w_new": weights["w"],
    }
    return Run(optimizer.FORMULAS, found, scalars)


EPS = 1e-8

ADAMW = Example(
    name="adamw",
    title="One AdamW step: the first",
    words=(
        "Two weights with very different gradients, 0.5 and -0.01, at the rate 0.1. `m` and `v` "
        "are running means of the gradient and of its square; before the first step both are 0."
    ),
    inputs={
        "w": np.array([[2.0, -1.0]]),
        "d_w": np.array([[0.5, -0.01]]),
        "m": np.zeros((1, 2)),
        "v": np.zeros((1, 2)),
    },
    code=_first_step,
    scalars={
        "beta_1": 0.9, "beta_2": 0.95, "step": 1, "lr": 0.1, "weight_decay": 0.1, "eps": EPS,
    },
    steps=(
        Step("m_new", "A tenth of the way to the gradient.", ((0, 0),)),
        Step("v_new", "And a twentieth of the way to its square.", ((0, 0),)),
        Step("m_hat", "Both began at 0 and are too small; this sets them right.", ((0, 0),)),
        Step("v_hat", "After one step that is the gradient's square itself.", ((0, 0),)),
        Step(
            "decayed",
            "Decay: each weight shrinks by `lr` times `weight_decay`, whatever its gradient.",
            ((0, 0),),
        ),
        Step(
            "w_new",
            "And the step: a gradient over its own size is 1 or -1, so both weights move by 0.1.",
            ((0, 0), (0, 1)),
        ),
    ),
    expected={
        "m_new": ((0.05, -0.001),),
        "v_new": ((0.0125, 0.000005),),
        "m_hat": ((0.5, -0.01),),
        "v_hat": ((0.25, 0.0001),),
        "decayed": ((1.98, -0.99),),
        "w_new": ((1.98 - 0.1 * 0.5 / (0.5 + EPS), -0.99 + 0.1 * 0.01 / (0.01 + EPS)),),
    },
    lesson=(
        "Without the correction by 1 - beta ** step the step would be 0.05 / sqrt(0.0125) = "
        f"{0.05 / sqrt(0.0125):.4f} times as long. `eps` stands outside the root."
    ),
)  # fmt: skip
