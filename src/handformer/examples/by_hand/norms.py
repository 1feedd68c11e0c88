"""A row brought to a standard size: LayerNorm and RMSNorm on numbers whose roots are whole."""

import numpy as np

from handformer.examples.example import Example, Step
from handformer.examples.running import op
from handformer.ops import layer_norm, rms_norm

LAYER_NORM = Example(
    name="layer-norm",
    title="A LayerNorm row, there and back",
    words=(
        "One row of width 4 with the mean 4. Its distances from the mean are 5, -3, -1 and -1; "
        "their squares 25, 9, 1 and 1 have the mean 9, the square of 3. `eps` is 0 here, so that "
        "all comes out even; a model has 1e-5 there, under the root."
    ),
    inputs={
        "x": np.array([[9.0, 1.0, 3.0, 3.0]]),
        "gamma": np.array([3.0, 1.0, 3.0, 6.0]),
        "beta": np.array([0.0, 2.0, 2.0, 4.0]),
        "d_y": np.array([[4.0, 0.0, 0.0, 0.0]]),
    },
    code=op(layer_norm, b="t"),
    scalars={"eps": 0.0},
    steps=(
        Step("mean", "The row's mean.", ((0,),)),
        Step(
            "rstd",
            "One over the standard deviation. The squares are divided by 4, the width, not by 3.",
            ((0,),),
        ),
        Step("x_hat", "The row with mean 0 and variance 1.", ((0, 0), (0, 1))),
        Step("y", "Then each place has its own scale and shift.", ((0, 0), (0, 3))),
        Step("d_x_hat", "The way back, with L = 4 y[0,0]: through the scale.", ((0, 0),)),
        Step(
            "d_x",
            "Each number moves the mean and the spread of its whole row, so two parts are taken "
            "out: the mean of `d_x_hat`, and what lies along `x_hat`.",
            ((0, 0), (0, 1)),
        ),
        Step("d_gamma", "The gradients of the scales.", ((0,),)),
        Step("d_beta", "And of the shifts."),
    ),
    expected={
        "mean": (4.0,),
        "rstd": (1 / 3,),
        "x_hat": ((5 / 3, -1.0, -1 / 3, -1 / 3),),
        "y": ((5.0, 1.0, 1.0, 2.0),),
        "d_x_hat": ((12.0, 0.0, 0.0, 0.0),),
        "d_x": ((2 / 9, 2 / 3, -4 / 9, -4 / 9),),
        "d_gamma": (20 / 3, 0.0, 0.0, 0.0),
        "d_beta": (4.0, 0.0, 0.0, 0.0),
    },
    lesson=(
        "To add a number to the row, or to stretch it about its mean, changes nothing behind the "
        "norm. So the entries of `d_x` sum to 0, and their products with `x_hat` too."
    ),
)

RMS_NORM = Example(
    name="rms-norm",
    title="RMSNorm: the same without the mean",
    words=(
        "One row, 1 and 7: the mean of the squares 1 and 49 is 25, the square of 5. Nothing is "
        "taken out, the row is only made shorter or longer. `eps` is 0 here, so that all comes "
        "out even."
    ),
    inputs={
        "x": np.array([[1.0, 7.0]]),
        "gamma": np.array([5.0, 10.0]),
        "d_y": np.array([[1.0, 0.0]]),
    },
    code=op(rms_norm, b="t"),
    scalars={"eps": 0.0},
    steps=(
        Step("rrms", "One over the root of the mean square.", ((0,),)),
        Step("x_hat", "The row with mean square 1.", ((0, 0), (0, 1))),
        Step("y", "Then each place has its own scale.", ((0, 1),)),
        Step("d_x_hat", "The way back, with L = y[0,0]."),
        Step("d_x", "What lies along `x_hat` is taken out.", ((0, 0), (0, 1))),
        Step("d_gamma", "The gradients of the scales.", ((0,),)),
    ),
    expected={
        "rrms": (1 / 5,),
        "x_hat": ((1 / 5, 7 / 5),),
        "y": ((1.0, 14.0),),
        "d_x_hat": ((5.0, 0.0),),
        "d_x": ((49 / 50, -7 / 50),),
        "d_gamma": (1 / 5, 0.0),
    },
    lesson="`d_x` is at a right angle to `x`: 1 times 0.98 is 7 times 0.14.",
)
