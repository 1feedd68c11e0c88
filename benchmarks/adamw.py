"""An update of ten million weights by AdamW, the norm of the gradient included: plain and fast."""

from side_by_side import compare, drawn

from handformer.fast import adamw
from handformer.fast.workers import Workers
from handformer.train import clipping, norms
from handformer.train.optimizer import AdamW

weights, grads = [drawn(10_000, 1000)], [drawn(10_000, 1000)]
optimizer = AdamW()
params, d_params = {"w": weights[0]}, {"w": grads[0]}
state = optimizer.init(params)
m, v = [state.moments["m"]["w"]], [state.moments["v"]["w"]]


def plain() -> None:
    """New arrays."""
    optimizer.update(params, clipping.clip(d_params, 1.0)[0], state, 1e-6)


def fast() -> None:
    """In place."""
    workers = Workers(1)
    norm = norms.norm(adamw.add_up([grads], workers))
    rates = adamw.Rates(1e-6, 0.9, 0.95, 1e-8, 0.1, 1, clipping.factor(norm, 1.0))
    adamw.update(weights, grads, (m, v), rates, workers)


compare("adamw", plain, fast)
