"""Attention of six heads under a causal mask: plain and fast."""

import numpy as np
from side_by_side import compare, drawn

from handformer import fast, ops

q, k, v, d_context = (drawn(4, 256, 6, 64).swapaxes(1, 2) for _ in range(4))
mask, keep = np.tri(256, dtype=np.bool_), np.broadcast_to(np.True_, (4, 6, 256, 256))
_, attn, kept, _ = ops.masked_attention.forward(q, k, v, mask, None, keep, 0.0)
one, other = ops.masked_attention, fast.masked_attention
given = (q, k, v, np.broadcast_to(mask, keep.shape), None, keep, 0.0)
compare("masked_attention forward", one.forward, other.forward, *given)
given = (d_context, q, k, v, attn, kept, keep, 0.0)
compare("masked_attention backward", one.backward, other.backward, *given)
