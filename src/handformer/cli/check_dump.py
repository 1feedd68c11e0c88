"""A dump held against a case: once, or again and again while somebody mends their code."""

import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from handformer.cli import CANNOT, FINE, NO, complain
from handformer.cli.check_forms import Forms, console, give, patiently
from handformer.errors import InputError


@dataclass(frozen=True)
class Asked:
    """A dump, the case that it is held against, and a file that tells their names."""

    theirs: Path
    against: str
    names: Path | None = None


def checked(asked: Asked, forms: Forms, *, watch: bool = False) -> int:
    """Hold a dump against a case, and again whenever it changes; the exit code."""
    from handformer.checking.api import check, opened

    with patiently("making the case"):
        case, name = opened(asked.against)

    def once() -> int:
        with patiently("checking") as said:
            found = check(asked.theirs, against=case, names=asked.names, said=said)
        report = replace(found, case=name)
        give(report, case, forms)
        return FINE if report.fine else NO

    if not watch:
        return once()
    return watched(once, [asked.theirs, *([asked.names] if asked.names else [])])


def watched(once: Callable[[], int], paths: list[Path]) -> int:
    """Answer again whenever one of these files changes, until Ctrl-C; the last answer's exit code.

    What can't be read is said, and watched on: it may be half written, or not there yet.
    """
    from handformer.cli.check_watch import changes

    code, out = CANNOT, console()
    try:
        for _ in changes(paths):
            if out.is_terminal:
                out.clear()
            try:
                code = once()
            except (InputError, OSError) as error:
                code = complain(str(error))
            print(f"watching {paths[0]} (Ctrl-C ends)", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # behind the ^C of the terminal
    return code


def listed(as_json: bool) -> int:
    """Name the ready-made cases, a line each."""
    from handformer.checking.cases import catalogue

    found = catalogue()
    if as_json:
        import json

        rows = [
            {
                "name": one.name,
                "says": one.says,
                "family": one.family,
                "sizes": dict(one.sizes),
                "values": one.values,
                "nbytes": one.nbytes,
            }
            for one in found
        ]
        print(json.dumps(rows, indent=2))
        return FINE
    wide, width = console().width, max(len(one.name) for one in found) + 2
    for one in found:
        lines = textwrap.wrap(one.says, max(20, wide - width))
        print(f"{one.name:<{width}}" + f"\n{'':<{width}}".join(lines))
    print("\nhandformer check --write NAME FILE")
    print("handformer check THEIRS --against NAME")
    return FINE


def written(name: str, path: Path, *, as_json: bool) -> int:
    """Write a ready-made case as a file, which programs of any language read."""
    from handformer.checking import cases

    with patiently("making the case"):
        case = cases.build(name)
        case.save(path)
    size = path.stat().st_size
    if as_json:
        import json

        print(json.dumps({"name": name, "written": str(path), "nbytes": size}, indent=2))
        return FINE
    print(f"{path}  {len(case)} values, {size:,} bytes")
    print(f"handformer check THEIRS --against {path}")
    return FINE
