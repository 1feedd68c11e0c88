"""handformer writing on from a prompt, one token at a time, with the keys and values kept."""

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from handformer import fast, ops
from handformer.bench.contestants import ways
from handformer.generate import Sampling, generate
from handformer.generate.precision import kept_in
from handformer.models import Decoder, ModelConfig


def begin(settings: dict[str, Any]) -> tuple[Callable[[], dict[str, Any]], dict[str, Any]]:
    """The likeliest tokens after a random prompt."""
    if settings["ops"] == ways.FAST:
        ways.require_fast()
    chosen = {ways.FAST: fast, ways.PLAIN: ops}[settings["ops"]]
    threadpool_limits(settings["threads"])
    model = kept_in(Decoder.init(ModelConfig.read(settings["config"])), settings["dtype"])
    rng, count = np.random.default_rng(0), settings["tokens"]
    prompt = rng.integers(model.config.vocab_size, size=settings["prompt"]).tolist()
    greedy = Sampling(temperature=0)

    def write() -> dict[str, Any]:
        steps = generate(model, [prompt], max_tokens=count, sampling=greedy, ops=chosen)
        return {"text": [int(step.tokens[0]) for step in steps]}

    return write, {}
