"""An embedding's gradient: plain and fast."""

from side_by_side import compare, drawn, rng

from handformer import fast, ops

table, d_y = drawn(50257, 768), drawn(128, 768)
tokens = rng.integers(50257, size=128)
compare(
    "embedding backward", ops.embedding.backward, fast.embedding.backward, d_y, tokens, table, 1
)
