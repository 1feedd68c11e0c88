"""The rectifier: plain and fast."""

from side_by_side import HIDDEN, ROWS, compare, drawn

from handformer import fast, ops

x, d_y = drawn(ROWS, HIDDEN), drawn(ROWS, HIDDEN)
compare("relu forward", ops.relu.forward, fast.relu.forward, x)
compare("relu backward", ops.relu.backward, fast.relu.backward, d_y, x)
