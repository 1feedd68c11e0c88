"""A gated product: one path, through SiLU, decides how much of the other passes.

Forward    act = silu(gate), y = act up: gate and up come from the same x by two matrices.
Backward   a product: each factor's gradient is d_y times the other; act's goes on through SiLU.
Kept       gate, up and act.
Source     Shazeer 2020, equations 5 and 6.
"""

from typing import NamedTuple

from handformer.axes import Array
from handformer.formula import Sheet
from handformer.ops import silu

FORMULAS = (
    silu.FORMULAS.rename(x="gate", y="act")
    + Sheet.parse("""
        y[b]     = act[b] * up[b]
        d_act[b] = d_y[b] * up[b]
        d_up[b]  = d_y[b] * act[b]
    """)
).order("sigma act y d_act d_gate d_up")


class Forward(NamedTuple):
    """act and y, both of the shape of gate and up."""

    act: Array
    y: Array


class Backward(NamedTuple):
    """d_act, d_gate and d_up, all of the shape of gate and up."""

    d_act: Array
    d_gate: Array
    d_up: Array


def forward(gate: Array, up: Array) -> Forward:
    """silu(gate) times up, entry by entry; gate and up have one shape."""
    act = silu.forward(gate)
    return Forward(act, act * up)


def backward(d_y: Array, gate: Array, up: Array, act: Array) -> Backward:
    """Gradients of act, gate and up from d_y."""
    d_act = d_y * up
    d_gate = silu.backward(d_act, gate)
    d_up = d_y * act
    return Backward(d_act, d_gate, d_up)
