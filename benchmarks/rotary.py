"""Rotary positions: plain and fast."""

from side_by_side import compare, drawn

from handformer import fast, ops

x = drawn(4, 256, 6, 64).swapaxes(1, 2)  # as a projection leaves it
cos, sin = drawn(4, 256, 32), drawn(4, 256, 32)
compare("rotary", ops.rotary.forward, fast.rotary.forward, x, cos, sin)
