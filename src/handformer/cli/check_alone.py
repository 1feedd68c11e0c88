"""Checks that need no case: what holds whatever the weights are, and ways that must agree."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from handformer.cli import FINE, NO
from handformer.cli.check_dump import watched
from handformer.cli.check_forms import patiently


def invariants(theirs: Path, *, as_json: bool, watch: bool) -> int:
    """Ask of a dump all that needs no reference; the exit code."""
    from handformer.checking import unreferenced

    def once() -> int:
        with patiently("asking"):
            asked = unreferenced.check(theirs)
        tell = unreferenced.json if as_json else unreferenced.text
        print(tell(asked), end="", flush=True)
        return FINE if unreferenced.fine(asked) else NO

    return watched(once, [theirs]) if watch else once()


def agreement(model: Path, *, kv_cache: bool, padding: bool, as_json: bool) -> int:
    """Compute in two ways what must be the same, with a model; the exit code."""
    import handformer as hand
    from handformer.checking import equivalence

    loaded = hand.load(model)
    ways: list[tuple[str, Callable[..., Any]]] = []
    if kv_cache:
        ways.append(("kv_cache", equivalence.kv_cache))
    if padding:
        ways.append(("padding", equivalence.padding))
    found = {}
    for name, way in ways:
        with patiently(name.replace("_", " ")):
            found[name] = way(loaded)
    if as_json:
        import json

        told = {name: one.json() for name, one in found.items()}
        print(json.dumps(told, indent=2, allow_nan=False))
    else:
        print("\n\n".join(one.text() for one in found.values()))
    return FINE if all(one.fine for one in found.values()) else NO
