"""`handformer check`: hold anybody's Transformer against the reference, and name the mistake."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Direction(StrEnum):
    """The two ways in which an op is computed."""

    FORWARD = "forward"
    BACKWARD = "backward"


def command(
    theirs: Annotated[
        Path | None,
        typer.Argument(
            metavar="THEIRS",
            help="What was dumped: .safetensors, .npz, .json, or a folder of .npy files. With "
            "--kv-cache and --padding: a model's folder, or a run's.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="CASE", help="A case's file, or the name of a ready-made one: see --list."
        ),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A names.toml: what you call the values."),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Name the ready-made cases, a line each.")
    ] = False,
    write: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            metavar="NAME FILE", help="Write a ready-made case, for your program to read."
        ),
    ] = None,
    invariants: Annotated[
        bool,
        typer.Option("--invariants", help="Without a case: what must hold whatever the weights."),
    ] = False,
    kv_cache: Annotated[
        bool, typer.Option("--kv-cache", help="Of a model: with a cache and without it the same?")
    ] = False,
    padding: Annotated[
        bool,
        typer.Option("--padding", help="Of a model: padded and alone the same? Gradients too."),
    ] = False,
    op: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="One op instead, yours in the place of ours: softmax."),
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="WHAT", help="Yours: ./my_softmax.so, module:function, or file.py:f."
        ),
    ] = None,
    with_command: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help='Yours: a program, "./prog {inputs} {outputs}".'),
    ] = None,
    direction: Annotated[
        Direction | None, typer.Option(help="Which way the op is computed; forward, if not said.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The answer as JUnit XML too, for CI.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="And as a page that shows both sides.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Answer again when the dump changes; Ctrl-C ends.")
    ] = False,
) -> int:
    """Find the first wrong step of somebody's Transformer, and name the mistake.

    Each value of the dump is held against the reference, and against what should have come of their
    own earlier values. Exit code 0: all agree; 1: something differs; 2: it can't be asked.
    """
    from handformer.cli import check_alone, check_dump, check_op
    from handformer.cli.check_forms import Forms
    from handformer.cli.check_modes import mode

    asked = mode({
        "THEIRS": theirs, "--against": against, "--names": names, "--list": list_,
        "--write": write, "--invariants": invariants, "--kv-cache": kv_cache,
        "--padding": padding, "--op": op, "--with": with_, "--with-command": with_command,
        "--direction": direction, "--json": json_, "--junit": junit, "--html": html,
        "--watch": watch,
    })  # fmt: skip
    if asked == "--list":
        return check_dump.listed(json_)
    if write is not None:
        return check_dump.written(*write, as_json=json_)
    if op is not None:
        way = direction or Direction.FORWARD
        return check_op.checked(op, with_, with_command, direction=way, as_json=json_)
    assert theirs is not None
    if asked == "--invariants":
        return check_alone.invariants(theirs, as_json=json_, watch=watch)
    if against is None:
        return check_alone.agreement(theirs, kv_cache=kv_cache, padding=padding, as_json=json_)
    forms = Forms(json_, junit, html)
    forms.require_writable()
    return check_dump.checked(check_dump.Asked(theirs, against, names), forms, watch=watch)
