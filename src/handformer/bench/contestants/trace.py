"""A trace of handformer: forward, loss and backward, every value and every gradient by its name.

The batch is cut into a share for each thread, as in a training step. So a value's name stands for
its pieces, one a share; the gradients of the weights are added up.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from handformer import tree
from handformer.axes import Array
from handformer.bench.contestants import ways
from handformer.models import Decoder, ModelConfig
from handformer.ops.drops import NO_DROPOUT
from handformer.train.engine import Engine
from handformer.train.step import Batch, Pass, passed


def begin(settings: dict[str, Any]) -> tuple[Callable[[], dict[str, Any]], dict[str, Any]]:
    """A trace of windows of random tokens, which tells how many arrays it found, and their size."""
    threads = settings["threads"]
    engine = ways.engine(settings["ops"], threads)
    add_up = {ways.PLAIN: _add_up, ways.FAST: _add_up_fast}[settings["ops"]]
    model = Decoder.init(ModelConfig.read(settings["config"]))
    rng = np.random.default_rng(0)
    shape = (settings["batch"], model.config.context)
    tokens, targets = (rng.integers(model.config.vocab_size, size=shape) for _ in range(2))
    whole = Batch({"tokens": tokens}, targets)

    def run(share: Batch) -> Pass:
        return passed(model, share, whole.count, 0.0, NO_DROPOUT, engine.ops)

    def trace() -> dict[str, Any]:
        (made,) = engine.rounds(run, whole.split(threads))
        add_up(made, engine)
        found = [_named(one) for one in made]
        sizes = (array.nbytes for values in found for array in values.values())
        return {
            "values": len(found[0]), "bytes": sum(sizes), "loss": sum(one.loss for one in made),
        }  # fmt: skip

    return trace, {}


def _named(made: Pass) -> dict[str, Array]:
    return tree.flatten(made.cache) | {"losses": made.losses} | tree.gradients(made.back)


def _add_up(made: Sequence[Pass], _: Engine) -> None:
    """Add the other shares' gradients of the weights to the first one's."""
    first = made[0].grads
    for other in made[1:]:
        for path, part in other.grads.items():
            first[path] += part


def _add_up_fast(made: Sequence[Pass], engine: Engine) -> None:
    from handformer.fast import adamw  # noqa: PLC0415  # it needs Numba

    adamw.add_up([list(one.grads.values()) for one in made], engine.workers)
