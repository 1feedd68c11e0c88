"""SiLU: plain and fast."""

from side_by_side import HIDDEN, ROWS, compare, drawn

from handformer import fast, ops

x, d_y = drawn(ROWS, HIDDEN), drawn(ROWS, HIDDEN)
compare("silu forward", ops.silu.forward, fast.silu.forward, x)
compare("silu backward", ops.silu.backward, fast.silu.backward, d_y, x)
