"""`handformer bench`: how fast this machine trains, traces and writes, beside peers and limits."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handformer.errors import InputError

if TYPE_CHECKING:
    from handformer.bench.race import Result, Tell


def command(
    shape: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Of A, B, C (trained and traced), G (writes), or all: as in A,G."
        ),
    ] = "A,B,G",
    rounds: Annotated[int, typer.Option(help="How often each one's turn comes.")] = 3,
    threads: Annotated[
        int | None, typer.Option(help="Of each one. [default: one a core]", show_default=False)
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Compare with what is installed of them.")
    ] = True,
    peers_python: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The Python in which peers are installed.")
    ] = None,
    compile_: Annotated[
        bool, typer.Option("--compile", help="With torch.compile too: half a minute more.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> int:
    """Measure training steps, traces and writing: some minutes, C a few more.

    Every contestant has a process of its own, and they take turns: handformer fast and plain,
    PyTorch, TransformerLens and transformers where they are installed. Times are medians; the share
    is that of this machine's own matrix products (for writing: of its memory's speed), measured in
    the same turns.
    """
    import time

    from handformer import __version__
    from handformer.bench import contests, machine, race, shapes
    from handformer.bench.report import records
    from handformer.fast.workers import cores

    began = time.monotonic()
    asked = shapes.chosen(shape)
    if rounds < 1:
        raise InputError(f"--rounds {rounds}: expected a whole number from 1 on")
    if threads is not None and not 1 <= threads <= cores():
        raise InputError(f"--threads {threads}: expected 1 to {cores()}, a thread for each core")
    if (compile_ or peers_python) and not peers:
        raise InputError("--no-peers leaves nothing to --compile or --peers-python: drop one")
    if peers_python and not peers_python.is_file():
        raise InputError(f"--peers-python {peers_python}: there is no such file")
    options = contests.Options(peers, compile_, str(peers_python or sys.executable))
    threads = threads or cores()
    results = []
    with _telling() as tell:
        tell("the machine's own speed")
        facts = machine.describe(threads)
    if not json_:
        print(_machine(facts), flush=True)
    for contest in contests.contests(asked, options):
        with _telling() as tell:
            results.append(race.run(contest, rounds=rounds, threads=threads, tell=tell))
        if not json_:
            _show(results[-1])
    if json_:
        import json

        found = [record for result in results for record in records(result)]
        seconds = round(time.monotonic() - began, 3)
        document = {
            "handformer": __version__,
            "machine": facts,
            "rounds": rounds,
            "seconds": seconds,
            "records": found,
        }
        print(json.dumps(document, indent=2, allow_nan=False))
    return 1 if any(_broken(result) for result in results) else 0


@contextmanager
def _telling() -> "Iterator[Tell]":
    """A line in a terminal that says who is at work; while it is there, nothing may be printed."""
    from rich.console import Console

    console = Console(stderr=True)
    # Not console.is_terminal: the environment can force that, and a spinner in a file is noise.
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield lambda _: None
        return
    with console.status("") as status:
        yield status.update


def _show(result: "Result") -> None:
    from rich.console import Console

    from handformer.bench.table import table, title

    console = Console(highlight=False)
    console.print(title(result), table(result), sep="\n")
    sys.stdout.flush()


def _machine(facts: dict[str, Any]) -> str:
    from handformer import __version__

    return (
        f"handformer {__version__} on {facts['processor']}, {facts['cores']} cores, "
        f"{facts['threads']} threads\n"
        f"Python {facts['python']}, NumPy {facts['numpy']}, {facts['blas']}\n"
        f"matrix products {facts['operations_per_second'] / 1e9:.1f} GFLOP/s "
        f"(NumPy's {facts['numpy_operations_per_second'] / 1e9:.1f}), "
        f"memory {facts['bytes_per_second'] / 1e9:.1f} GB/s\n"
    )


def _broken(result: "Result") -> bool:
    """Whether one of ours didn't come through."""
    return any(e.failed and e.contestant.ours for e in result.entries)
