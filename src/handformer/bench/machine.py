"""The machine that is measured: what it is, and its own limits."""

import platform
from pathlib import Path
from typing import Any

from handformer.bench.contestant import Running
from handformer.bench.contests import machine
from handformer.fast.workers import cores

Facts = dict[str, Any]


def describe(threads: int) -> Facts:
    """Processor, libraries, and the speed of matrix products and of memory, in about two seconds.

    Raises
    ------
    GoneError
        where that can't be measured
    """
    with Running(machine(), threads) as running:
        facts = running.ready()
        told = running.work(0).told
    return {
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores(),
        "threads": threads,
        "python": platform.python_version(),
        "numpy": facts["version"],
        "blas": facts["blas"],
        **told,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"
