"""A gated product with the exact GELU: SwiGLU with another activation.

Forward    act = gelu(gate), y = act up.
Backward   that of SwiGLU, through GELU.
Kept       gate, up and act.
Source     Shazeer 2020, equations 5 and 6.
"""

from handformer.axes import Array
from handformer.ops import gelu, swiglu
from handformer.ops.swiglu import Backward, Forward

FORMULAS = (
    gelu.FORMULAS.rename(x="gate", y="act") + swiglu.FORMULAS.only("y", "d_act", "d_up")
).order("cdf density act y d_act d_gate d_up")


def forward(gate: Array, up: Array) -> Forward:
    """gelu(gate) times up, entry by entry; gate and up have one shape."""
    act = gelu.forward(gate)
    return Forward(act, act * up)


def backward(d_y: Array, gate: Array, up: Array, act: Array) -> Backward:
    """Gradients of act, gate and up from d_y."""
    d_act = d_y * up
    d_gate = gelu.backward(d_act, gate)
    d_up = d_y * act
    return Backward(d_act, d_gate, d_up)
