"""`handformer example`: an example that can be done on paper, step by step."""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """The forms in which an example is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"
    JSON = "json"


def command(
    name: Annotated[
        str | None, typer.Argument(help="Which one, as in: identity. Without a name: the list.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Name the examples, a line each, in reading order.")
    ] = False,
    format_: Annotated[
        Format, typer.Option("--format", help="For a terminal, a page, a paper or a program.")
    ] = Format.TEXT,
) -> int:
    """Work an example: for each step the formula, the numbers put in, the result.

    The numbers are those that our own code computes; each example is also a test against the
    numbers that were found on paper.
    """
    from handformer.examples import EXAMPLES, find, work
    from handformer.examples.show import FORMATS

    if name is not None and not list_:
        print(FORMATS[format_](work(find(name))), end="")
        return 0
    if format_ is Format.JSON:
        import json

        print(json.dumps({e.name: e.title for e in EXAMPLES.values()}, indent=2))
        return 0
    width = max(map(len, EXAMPLES))
    for example in EXAMPLES.values():
        print(f"{example.name:<{width}}  {example.title}")
    print("\nhandformer example identity   prints the first; --format markdown, latex or json")
    return 0
