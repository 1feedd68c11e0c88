"""The same page as one file, which works from a disk, with nothing beside it and no network.

The trace is the file that `Trace.save` writes, in base64. No text of it can become markup: all of
it stands in JSON that holds no `<`. And the page's own policy lets it fetch nothing.
"""

import base64
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from handformer.errors import InputError
from handformer.inspector import files
from handformer.inspector.data import document, to_json
from handformer.inspector.shell import shell
from handformer.inspector.tour import LANGUAGES, tour
from handformer.tracing.trace import Trace

LARGEST = 200_000_000  # bytes; browsers open larger texts slowly, or not at all


def page(trace: Trace, *, title: str, log: Any = None, check: Any = None) -> bytes:
    """The page of a trace, and of a run's log or a check where there is one, as one HTML file.

    Raises
    ------
    InputError
        where it would be larger than LARGEST; that is known before anything is put together
    """
    expected = forecast(trace)
    if expected > LARGEST:
        raise InputError(
            f"the page would have about {expected / 1e6:,.0f} MB, expected at most "
            f"{LARGEST / 1e6:,.0f} MB: leave values out with --only 'blocks.0.*', or the weights "
            "with --no-weights; `handformer inspect` shows a trace of any size"
        )
    return shell(title, to_json(_boot(trace, title, log, check))).html


def forecast(trace: Trace) -> int:
    """About how many bytes the page of a trace will have; no number is read for it."""
    numbers = sum(value.nbytes for value in trace.manifest.values if value.kept)
    own = sum(len(files.read(name)) for name in files.FILES)
    tours = sum(len(to_json(tour(one))) for one in LANGUAGES)
    told = len(trace.manifest.model_dump_json())  # tables and formulas take as much again, twice
    return 4 * numbers // 3 + own + tours + 3 * told


def _boot(trace: Trace, title: str, log: Any, check: Any) -> dict[str, Any]:
    """All that the page would otherwise ask a server for."""
    with TemporaryDirectory(prefix="handformer-") as folder:
        path = Path(folder) / "trace.safetensors"
        trace.save(path)
        shown = document(trace, path, number="1", title=title)
        shown["data"] = base64.b64encode(path.read_bytes()).decode("ascii")
    can = {"run": False, "generate": False, "log": log is not None, "check": check is not None}
    family = (trace.manifest.config or {}).get("family")
    about = {"kind": "trace", "title": title, "offline": True, "family": family, "can": can}
    boot = {"about": about, "traces": [shown], "tour": {one: tour(one) for one in LANGUAGES}}
    asked = {"log": log, "check": check}
    return boot | {name: held for name, held in asked.items() if held is not None}
