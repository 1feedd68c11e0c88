"""`handformer inspect`: look at a model, a run or a trace in a browser."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from handformer.cli import FINE


def command(
    what: Annotated[
        Path,
        typer.Argument(help="A model's folder, a run's, or a trace's file.", show_default=False),
    ],
    text: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What runs through the model first. [default: of a run its own sample, or a few "
            "words]",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="NUMBER", help="Where the page is; 0: any free port.")
    ] = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Only say where the page is; open no browser.")
    ] = False,
) -> int:
    """Show every number of a model, a run or a trace as a page in your browser.

    The page is on this machine alone, at the address that is printed. With a model, it also runs
    the texts that you type, and writes on, token by token. Ctrl-C ends it: exit code 0.
    """
    from rich.console import Console

    from handformer import fast
    from handformer.inspector import opening, server

    console = Console(stderr=True)
    quiet = not sys.stderr.isatty() or console.is_dumb_terminal
    with server.leaving(), server.listen(port) as opened:
        with nullcontext() if quiet else console.status("reading"):
            session = opening.opened(what, text, ops=fast)
        with session:
            address = f"http://{server.ADDRESS}:{opened.getsockname()[1]}/"
            print(f"{_shown(session.title)} is at {address} (Ctrl-C ends)", flush=True)
            if not no_open and _has_display():
                _open(address)
            try:
                server.server(session, opened).run(sockets=[opened])
            except KeyboardInterrupt:
                if not quiet:
                    print(file=sys.stderr)  # behind the ^C of the terminal
    return FINE


def _shown(title: str) -> str:
    """A name in a line, whatever a folder is called."""
    return "".join(letter if letter.isprintable() else "?" for letter in title)


def _has_display() -> bool:
    """Whether a browser has somewhere to appear."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(address: str) -> None:
    """Open a browser, in a thread, since some don't return before they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
