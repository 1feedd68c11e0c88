"""Shapes that take no time, and contestants that only pretend to work."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from handformer.bench.contestant import Contestant
from handformer.bench.contests import MACHINE, STEP, Contest
from handformer.bench.shapes import Shape
from handformer.models.config import ModelConfig

LEARNER = Shape(
    "S",
    "small",
    ModelConfig(vocab_size=5, context=3, n_layers=2, n_heads=2, d_model=4),
    2,
)
WRITER = Shape(
    "W",
    "small",
    ModelConfig(
        family="llama", vocab_size=7, context=64, n_layers=1, n_heads=4, n_kv_heads=2, d_model=8,
        d_k=4, d_ff=8, tied=True,
    ),
    1,
)  # fmt: skip

SPEEDS = '{"operations_per_second": 1e9, "bytes_per_second": 1e9}'


def pretender(
    folder: Path, body: str, name: str = "P", facts: str = "{}", **settings: Any
) -> Contestant:
    """A contestant whose work is the body of a function of `settings` and `count`, from 1 on."""
    path = folder / f"{name}.py"
    lines = dedent(body).strip().replace("\n", "\n        ")
    path.write_text(
        f"import os, sys, time\n"
        f"def begin(settings):\n"
        f"    count = 0\n"
        f"    def work():\n"
        f"        nonlocal count\n"
        f"        count += 1\n"
        f"        {lines}\n"
        f"    return work, {facts}\n",
        encoding="utf-8",
    )
    return Contestant(name, str(path), settings)


def contest(folder: Path, *contestants: Contestant) -> Contest:
    """A contest of these and a machine that does a billion a second."""
    machine = pretender(folder, f"return {SPEEDS}", MACHINE)
    return Contest(STEP, LEARNER, (*contestants, machine), operations=16272)
