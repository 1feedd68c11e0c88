"""GELU in its tanh form: plain and fast."""

from side_by_side import HIDDEN, ROWS, compare, drawn

from handformer import fast, ops

x, d_y = drawn(ROWS, HIDDEN), drawn(ROWS, HIDDEN)
compare("gelu_tanh forward", ops.gelu_tanh.forward, fast.gelu_tanh.forward, x)
compare("gelu_tanh backward", ops.gelu_tanh.backward, fast.gelu_tanh.backward, d_y, x)
