"""Activations at points that can be done on paper: GELU at 1, SwiGLU at the logarithm of 3."""

from math import exp, log, pi, sqrt, tanh

import numpy as np

from handformer.examples.example import Example, Step
from handformer.examples.running import chain, op
from handformer.ops import gelu, gelu_tanh, swiglu

# The normal distribution at 1, from a table, and its density.
CDF = 0.84134474606854294859
DENSITY = exp(-0.5) / sqrt(2 * pi)

INNER = sqrt(2 / pi) * 1.044715
TANH = (1 + tanh(INNER)) / 2

GELU = Example(
    name="gelu",
    title="GELU at -1, 0 and 1: exact, and by tanh",
    words=(
        "GELU lets a number through as far as it is likely to be large: `x` times the chance that "
        "a draw from the normal distribution lies below `x`. A table of that distribution says "
        f"{CDF:.4f} at 1. GPT-2 has an approximation by tanh, which is close but not the same: "
        "weights trained with one should be run with that one."
    ),
    inputs={
        "x": np.array([-1.0, 0.0, 1.0]),
        "d_exact": np.ones(3),
    },
    code=chain(
        op(gelu, b="i", y="exact"), op(gelu_tanh, b="i", y="approximate", d_x="d_x_approximate")
    ),
    steps=(
        Step("cdf", "The chance that a normal draw lies below x.", ((2,),)),
        Step("exact", "x times that chance.", ((0,), (2,))),
        Step("density", "The height of the bell curve: the slope of `cdf`.", ((2,),)),
        Step(
            "d_x", "The slope of the whole, by the product rule. At 1 it's above 1.", ((2,), (0,))
        ),
        Step("inner", "The approximation: 0.044715 is its one fitted number.", ((2,),)),
        Step("approximate", "It differs in the fourth place.", ((0,), (2,))),
    ),
    expected={
        "cdf": (1 - CDF, 0.5, CDF),
        "exact": (CDF - 1, 0.0, CDF),
        "density": (DENSITY, 1 / sqrt(2 * pi), DENSITY),
        "d_x": (1 - CDF - DENSITY, 0.5, CDF + DENSITY),
        "inner": (-INNER, 0.0, INNER),
        "approximate": (TANH - 1, 0.0, TANH),
    },
    lesson=(
        f"At 1: {CDF:.5f} exactly, {TANH:.5f} by tanh. A test to three places can't tell them "
        "apart."
    ),
)

SWIGLU = Example(
    name="swiglu",
    title="SwiGLU: a gate that another path must pass",
    words=(
        "The hidden layer of Llama: two numbers are computed from the same row, and one, through "
        "SiLU, decides how much of the other passes. The sigmoid of log(3) is 3/4, that of 0 is "
        "1/2."
    ),
    inputs={
        "gate": np.array([log(3), 0.0]),
        "up": np.array([8.0, 5.0]),
        "d_y": np.array([1.0, 1.0]),
    },
    code=op(swiglu, b="f"),
    steps=(
        Step("sigma", "The sigmoid: how far the gate is open.", ((0,),)),
        Step("act", "SiLU is the gate times that.", ((0,),)),
        Step("y", "And the product of both paths.", ((0,), (1,))),
        Step("d_act", "The way back, with L = y[0] + y[1]: each factor gets the other."),
        Step("d_up", "So too here.", ((0,),)),
        Step("d_gate", "And on through SiLU.", ((0,), (1,))),
    ),
    expected={
        "sigma": (3 / 4, 1 / 2),
        "act": (3 / 4 * log(3), 0.0),
        "y": (6 * log(3), 0.0),
        "d_act": (8.0, 5.0),
        "d_up": (3 / 4 * log(3), 0.0),
        "d_gate": (6 + 3 / 2 * log(3), 5 / 2),
    },
    lesson="A gate at 0 lets nothing through, yet it learns: its gradient is half of `up`.",
)
