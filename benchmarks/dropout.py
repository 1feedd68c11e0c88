"""Dropout: plain and fast."""

from side_by_side import ROWS, WIDTH, compare, drawn

from handformer import fast, ops

x, keep = drawn(ROWS, WIDTH), drawn(ROWS, WIDTH) > -1
compare("dropout", ops.dropout.forward, fast.dropout.forward, x, keep, 0.1)
