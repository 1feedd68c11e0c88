"""Root-mean-square normalisation: plain and fast."""

from side_by_side import ROWS, WIDTH, compare, drawn

from handformer import fast, ops

x, d_y, gamma = drawn(ROWS, WIDTH), drawn(ROWS, WIDTH), drawn(WIDTH)
rrms, x_hat, _ = ops.rms_norm.forward(x, gamma, 1e-5)
given = (d_y, gamma, rrms, x_hat)
compare("rms_norm forward", ops.rms_norm.forward, fast.rms_norm.forward, x, gamma, 1e-5)
compare("rms_norm backward", ops.rms_norm.backward, fast.rms_norm.backward, *given)
