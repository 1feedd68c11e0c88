"""Cross-entropy over a large vocabulary: plain and fast."""

from side_by_side import compare, drawn, rng

from handformer import fast, ops

logits, targets = drawn(128, 50257), rng.integers(50257, size=128)
probs = ops.cross_entropy.forward(logits, targets, 0.0).probs
given = (1.0, probs, targets, 128, 0.0)
compare(
    "cross_entropy forward",
    ops.cross_entropy.forward,
    fast.cross_entropy.forward,
    logits,
    targets,
    0.0,
)
compare("cross_entropy backward", ops.cross_entropy.backward, fast.cross_entropy.backward, *given)
