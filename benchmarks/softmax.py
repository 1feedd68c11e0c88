"""The softmax's gradient, and a softmax under a causal mask: plain and fast."""

import numpy as np
from side_by_side import compare, drawn

from handformer import fast, ops

x, d_y = drawn(24, 256, 256), drawn(24, 256, 256)
mask = np.tri(256, dtype=np.bool_)
y = ops.masked_softmax.forward(x, mask)
compare("masked_softmax forward", ops.masked_softmax.forward, fast.masked_softmax.forward, x, mask)
compare("softmax backward", ops.softmax.backward, fast.softmax.backward, d_y, y)
