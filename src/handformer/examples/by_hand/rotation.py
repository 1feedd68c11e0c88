"""Rotary positions by a quarter and a half turn, with both ways of pairing channels."""

import numpy as np

from handformer.examples.example import Example, Step
from handformer.examples.running import chain, op
from handformer.ops import rotary, rotary_interleaved

ROTATION = Example(
    name="rotation",
    title="Rotary positions: a quarter turn and a half turn",
    words=(
        "Rotary positions turn the pairs of numbers in a query or key, each pair by an angle of "
        "its own that grows with the token's position. Here is one head with one token of width "
        "4, so two pairs: pair 0 makes a quarter turn (cos 0, sin 1), pair 1 a half turn (cos -1, "
        "sin 0)."
    ),
    inputs={
        "x": np.array([[[3.0, 1.0, 4.0, 2.0]]]),
        "cos": np.array([[0.0, -1.0]]),
        "sin": np.array([[1.0, 0.0]]),
        "d_turned": np.array([[[-4.0, -1.0, 3.0, -2.0]]]),
    },
    code=chain(
        op(rotary, b="", y="turned"),
        op(rotary_interleaved, b="", y="interleaved", d_x="d_x_interleaved"),
    ),
    scalars={"d_k": 4},
    steps=(
        Step(
            "turned",
            "Half-split pairs, as in Llama: place 0 with 2, place 1 with 3. The point (3, 4) "
            "turns to (-4, 3), the point (1, 2) to (-1, -2). Lengths stay: 5 is 5.",
            ((0, 0, 0), (0, 0, 2), (0, 0, 1)),
        ),
        Step(
            "d_x",
            "The way back turns back: a gradient that is `turned` itself comes back as `x`.",
            ((0, 0, 0), (0, 0, 2)),
        ),
        Step(
            "interleaved",
            "Neighbours as pairs: place 0 with 1, place 2 with 3. So (3, 1) turns to (-1, 3), "
            "and (4, 2) to (-4, -2).",
            ((0, 0, 0), (0, 0, 2)),
        ),
    ),
    expected={
        "turned": (((-4.0, -1.0, 3.0, -2.0),),),
        "d_x": (((3.0, 1.0, 4.0, 2.0),),),
        "interleaved": (((-1.0, 3.0, -4.0, -2.0),),),
    },
    lesson="Both keep every length, yet they differ: weights fit the pairing they learned with.",
)
