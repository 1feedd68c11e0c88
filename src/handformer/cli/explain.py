"""`handformer explain`: where one number comes from, and where it goes."""

from pathlib import Path
from typing import Annotated

import typer

from handformer.cli import FINE
from handformer.cli.form import Format
from handformer.errors import InputError


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A file that `trace` wrote.")],
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="Which value, as in: blocks.0.attention.scores, or loss.loss."
        ),
    ],
    index: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INDEX",
            help="Which entry: a number an axis, counted from 0, as in: 0 1 3 2, or 0,1,3,2.",
        ),
    ] = None,
    terms: Annotated[
        int, typer.Option(min=1, help="How many terms of a sum are told one by one.")
    ] = 8,
    depth: Annotated[
        int, typer.Option(min=0, help="Explain the numbers it comes from, too, so many steps deep.")
    ] = 0,
    format_: Annotated[
        Format, typer.Option("--format", help="For a terminal, a page, a paper or a program.")
    ] = Format.TEXT,
    json_: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Unfold one number of a trace into its arithmetic, forward or backward.

    Its formula; the formula with the numbers put in; the greatest terms of the sum, each with its
    share; the difference from the stored number, and how much of it rounding explains; the numbers
    it comes from, and those that use it.
    """
    place = _place(index or [])
    from handformer.tracing.explain import follow
    from handformer.tracing.show import FORMATS
    from handformer.tracing.trace import Trace

    told = follow(Trace.load(trace), path, place, terms=terms, depth=depth)
    print(FORMATS[Format.JSON if json_ else format_](told), end="")
    return FINE


def _place(given: list[str]) -> list[int]:
    """The indices, however they are written.

    Raises
    ------
    InputError
        for anything but whole numbers from 0 on
    """
    parts = [part for one in given for part in one.replace(",", " ").split()]
    for part in parts:
        if part.startswith("--"):
            raise InputError(f"no such option: {part} (see --help)")
        if not part.isdecimal():
            raise InputError(f"index {part!r}: expected a whole number, counted from 0")
    try:
        return [int(part) for part in parts]
    except ValueError:  # Python reads no number of so many digits
        raise InputError("an index has too many digits") from None
