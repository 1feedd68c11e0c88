"""A training step of handformer: forward, loss, backward, clipping at 1, AdamW; all values kept."""

from collections.abc import Callable
from typing import Any

import numpy as np

from handformer import tree
from handformer.bench.contestants import ways
from handformer.models import Decoder, ModelConfig
from handformer.text import Tokenizer
from handformer.train.config import TrainConfig
from handformer.train.engine import Engine
from handformer.train.loop import Trained, optimizer, update
from handformer.train.tasks import LanguageTask


def begin(settings: dict[str, Any]) -> tuple[Callable[[], dict[str, Any]], dict[str, Any]]:
    """A step on windows of random tokens, which tells its loss."""
    threads = settings["threads"]
    engine = ways.engine(settings["ops"], threads)
    config = TrainConfig(
        batch=settings["batch"], shares=threads, lr=3e-4, schedule="constant", warmup=0, clip=1.0
    )
    sizes = ModelConfig.read(settings["config"])
    ids = np.random.default_rng(0).integers(sizes.vocab_size, size=64 * sizes.context)
    task = LanguageTask(Tokenizer.bytes(), ids, ids, sizes.context, "random tokens")
    trained = _begun(engine, sizes, config)

    def step() -> dict[str, Any]:
        nonlocal trained
        trained, told = update(trained, task, config, engine=engine)
        return {"loss": told["loss"]}

    return step, {}


def _begun(engine: Engine, sizes: ModelConfig, config: TrainConfig) -> Trained:
    model = Decoder.init(sizes)
    return Trained(0, *engine.own(model, optimizer(config).init(tree.flatten(model))))
