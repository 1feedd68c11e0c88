"""Layer normalisation: plain and fast."""

from side_by_side import ROWS, WIDTH, compare, drawn

from handformer import fast, ops

x, d_y, gamma, beta = drawn(ROWS, WIDTH), drawn(ROWS, WIDTH), drawn(WIDTH), drawn(WIDTH)
_, rstd, x_hat, _ = ops.layer_norm.forward(x, gamma, beta, 1e-5)
given = (d_y, gamma, beta, rstd, x_hat)
compare("layer_norm forward", ops.layer_norm.forward, fast.layer_norm.forward, x, gamma, beta, 1e-5)
compare("layer_norm backward", ops.layer_norm.backward, fast.layer_norm.backward, *given)
