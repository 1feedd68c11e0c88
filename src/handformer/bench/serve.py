"""The other end of a contest: a program that loads one contestant and lets it work when asked.

    python serve.py CONTESTANT.py '{"threads": 2, ...}'

The file has a function `begin(settings)`, which makes all that is needed and returns a function
that does the work once, and facts about itself. Both ends speak JSON, a line each: first the facts,
or `absent` with the library that isn't there; then, for every number of seconds that comes in, the
times of as many rounds of work as fit, at least one, and the peak of the memory so far.

This file needs nothing but Python's own library, so that a peer may live in another environment.
"""

import json
import os
import resource
import runpy
import sys
import time
from contextlib import suppress
from pathlib import Path


def main(file: str, settings: str) -> None:
    """Serve one contestant until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints doesn't disturb

    def say(**answer: object) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    try:
        work, facts = runpy.run_path(file)["begin"](json.loads(settings))
    except ModuleNotFoundError as error:
        say(absent=error.name)
        return
    _forget_peak()
    say(**facts)
    for line in sys.stdin:
        until = time.perf_counter() + float(line)
        times: list[float] = []
        told: dict[str, object] = {}
        while not times or time.perf_counter() < until:
            began = time.perf_counter()
            told = work()
            times.append(time.perf_counter() - began)
        say(times=times, peak=_peak(), **told)


def _forget_peak() -> None:
    """Count the peak from now on, where the system can (Linux): making a model takes more."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> int:
    """The most memory that this process ever held, in bytes."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main(*sys.argv[1:])
