"""Theirs and ours in turns, on inputs as large as a small GPT-2's; medians are compared.

Ours is the compiled op, where there is one. Each measures in the process in which it runs: what the
arrays take from one to the other isn't counted.
"""

import time
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np

import handformer.ops as plain
from handformer import fast
from handformer.live.asked import ask
from handformer.live.contestant import Contestant
from handformer.live.contract import Contract
from handformer.live.large import large
from handformer.live.report import Speed
from handformer.selfcheck.ops import call, run

ROUNDS = 7
PIECE = 0.05  # seconds of work in a round


def race(contract: Contract, theirs: Contestant, seed: int) -> Speed:
    """Seconds a call, theirs and ours.

    Raises
    ------
    BrokenError
        where theirs can't go on at this size
    """
    rng = np.random.default_rng(seed)
    case = large(contract, rng)
    values = run(case, rng)
    given = {**dict.fromkeys(contract.parameters), **case.scalars, **values}
    ours = _ours(contract)
    asked = ask(contract, given, call(ours, given))
    counts = {
        "theirs": _count(theirs.seconds(asked, 1)),
        "ours": _count(_seconds(ours, given, 1)),
    }
    times: dict[str, list[float]] = {"theirs": [], "ours": []}
    for _ in range(ROUNDS):
        times["theirs"].append(theirs.seconds(asked, counts["theirs"]))
        times["ours"].append(_seconds(ours, given, counts["ours"]))
    shapes = ", ".join(f"{name} {array.shape}" for name, array in asked.arrays.items()
                       if array is not None)  # fmt: skip
    return Speed(median(times["theirs"]), median(times["ours"]), shapes, ROUNDS)


def _ours(contract: Contract) -> Any:
    """The compiled function, or the plain one."""
    module: Any = fast
    for part in contract.op.__name__.removeprefix(f"{plain.__name__}.").split("."):
        module = getattr(module, part, None)
    found = getattr(module, contract.direction, None)
    return found or getattr(import_module(contract.op.__name__), contract.direction)


def _count(seconds: float) -> int:
    return max(1, min(1000, round(PIECE / max(seconds, 1e-6))))


def _seconds(function: Any, given: dict[str, Any], repeats: int) -> float:
    began = time.perf_counter()
    for _ in range(repeats):
        call(function, given)
    return (time.perf_counter() - began) / repeats
