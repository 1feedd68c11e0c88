"""Writing with a Llama of 135 million weights: tokens a second, plain, by the engine, and a peer's.

    python benchmarks/generate.py

Random weights, one row, greedy, from a prompt of 16 tokens. Plain, the engine with each kind of
weights, and transformers (where it is installed) take turns. A token's time is that of its whole
step, sampling included; each figure is the median of all steps behind the first ones. The last
columns: the weights that a step reads, and how fast it reads them.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from handformer import fast, tree
from handformer import ops as plain
from handformer.generate import Sampling, generate
from handformer.generate.precision import DTYPES, kept_in
from handformer.models import Decoder, ModelConfig

CONFIG = ModelConfig(
    family="llama", vocab_size=49152, context=2048, n_layers=30, n_heads=9, n_kv_heads=3,
    d_model=576, d_ff=1536, tied=True,
)  # fmt: skip
PROMPT = list(range(100, 116))
TURNS, FIRST = 2, 2

Times = Iterator[float]


def ours(model: Decoder, ops: Any, tokens: int) -> Times:
    """The seconds of each step."""
    start = time.perf_counter()
    for _ in generate(
        model, [PROMPT], max_tokens=tokens, sampling=Sampling(temperature=0), ops=ops
    ):
        end = time.perf_counter()
        yield end - start
        start = end


def theirs(tokens: int) -> Callable[[], Times]:
    """The same by transformers: its model, and its cache."""
    import torch  # noqa: PLC0415 (only where it is installed)
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415

    torch.set_num_threads(os.cpu_count() or 1)
    config = LlamaConfig(
        vocab_size=CONFIG.vocab_size, hidden_size=CONFIG.d_model, intermediate_size=CONFIG.hidden,
        num_hidden_layers=CONFIG.n_layers, num_attention_heads=CONFIG.n_heads,
        num_key_value_heads=CONFIG.kv_heads, tie_word_embeddings=True,
    )  # fmt: skip
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model = model.to_empty(device="cpu").eval()
    for parameter in model.parameters():
        torch.nn.init.constant_(parameter, 0.01)

    @torch.inference_mode()
    def times() -> Times:
        start, past, new = time.perf_counter(), None, torch.tensor([PROMPT])
        for _ in range(tokens):
            out = model(new, past_key_values=past, use_cache=True, logits_to_keep=1)
            past, new = out.past_key_values, out.logits[:, -1:].argmax(-1)
            end = time.perf_counter()
            yield end - start
            start = end

    return times


def main() -> None:
    """Print the table."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, NumPy {np.__version__}", flush=True)
    model = Decoder.init(CONFIG, dtype=np.float32)
    contestants: dict[str, tuple[Callable[[], Times], int]] = {}

    def add(name: str, of: Decoder, ops: Any, tokens: int) -> None:
        read = sum(array.nbytes for array in tree.flatten(of).values())
        contestants[name] = (lambda: ours(of, ops, tokens), read)

    add("plain, float32", model, plain, 4)
    for weights in DTYPES:
        add(f"engine, {weights}", kept_in(model, weights), fast, 20)
    if find_spec("torch") and find_spec("transformers"):
        contestants["transformers, float32"] = (theirs(6), contestants["plain, float32"][1])
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for name in list(contestants) * TURNS:
        times[name] += list(contestants[name][0]())[FIRST:]
    print(f"{'':<24}{'tokens/s':>10}{'best':>8}{'GB a step':>11}{'GB/s':>7}")
    for name, (_, read) in contestants.items():
        middle = statistics.median(times[name])
        print(
            f"{name:<24}{1 / middle:>10.1f}{1 / min(times[name]):>8.1f}"
            f"{read / 1e9:>11.3f}{read / middle / 1e9:>7.1f}"
        )


if __name__ == "__main__":
    main()
