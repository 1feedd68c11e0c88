"""The gated product: plain and fast."""

from side_by_side import HIDDEN, ROWS, compare, drawn

from handformer import fast, ops

gate, up, d_y = (drawn(ROWS, HIDDEN) for _ in range(3))
act = ops.swiglu.forward(gate, up).act
compare("swiglu forward", ops.swiglu.forward, fast.swiglu.forward, gate, up)
compare("swiglu backward", ops.swiglu.backward, fast.swiglu.backward, d_y, gate, up, act)
