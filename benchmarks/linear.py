"""A linear map with a bias: plain and fast."""

from side_by_side import HIDDEN, ROWS, WIDTH, compare, drawn

from handformer import fast, ops

x, w, bias, d_y = drawn(ROWS, WIDTH), drawn(WIDTH, HIDDEN), drawn(HIDDEN), drawn(ROWS, HIDDEN)
compare("linear forward", ops.linear.forward, fast.linear.forward, x, w, bias)
compare("linear backward", ops.linear.backward, fast.linear.backward, d_y, x, w, bias)
