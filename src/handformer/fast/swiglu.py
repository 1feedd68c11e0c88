"""The gated product with SiLU, compiled: gate, activation and product in one pass."""

from handformer.axes import Array
from handformer.fast.compiled import alike, compiled, empty_like, flat
from handformer.fast.silu import sigmoid
from handformer.ops import swiglu as plain
from handformer.ops.swiglu import Backward, Forward


@compiled
def _forward(gate: Array, up: Array, act: Array, y: Array) -> None:
    one = gate.dtype.type(1)
    for at in range(gate.size):
        here = gate[at] * sigmoid(gate[at], one)
        act[at] = here
        y[at] = here * up[at]


@compiled
def _backward(
    d_y: Array, gate: Array, up: Array, act: Array, d_act: Array, d_gate: Array, d_up: Array
) -> None:
    one = gate.dtype.type(1)
    for at in range(gate.size):
        sigma = sigmoid(gate[at], one)
        here = d_y[at] * up[at]
        d_act[at] = here
        d_gate[at] = here * sigma * (gate[at] * (one - sigma) + one)
        d_up[at] = d_y[at] * act[at]


def forward(gate: Array, up: Array) -> Forward:
    """silu(gate) times up, entry by entry; gate and up have one shape."""
    if not alike(gate, up):
        return plain.forward(gate, up)
    act, y = empty_like(gate), empty_like(gate)
    _forward(flat(gate), flat(up), flat(act), flat(y))
    return Forward(act, y)


def backward(d_y: Array, gate: Array, up: Array, act: Array) -> Backward:
    """Gradients of act, gate and up from d_y."""
    if not alike(d_y, gate, up, act):
        return plain.backward(d_y, gate, up, act)
    d_act, d_gate, d_up = empty_like(gate), empty_like(gate), empty_like(gate)
    _backward(flat(d_y), flat(gate), flat(up), flat(act), flat(d_act), flat(d_gate), flat(d_up))
    return Backward(d_act, d_gate, d_up)
