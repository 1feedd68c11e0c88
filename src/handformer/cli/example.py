"""`handformer example`: an example that can be done on paper, step by step."""

from enum import StrEnum
from typing import Annotated

import typer

from handformer.cli.form import Format


class Tongue(StrEnum):
    """The languages in which examples are told."""

    ENGLISH = "en"
    CHINESE = "zh"


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
    language: Annotated[
        Tongue, typer.Option("--language", help="English (en) or Chinese (zh).")
    ] = Tongue.ENGLISH,
) -> int:
    """Work an example: for each step the formula, the numbers put in, the result.

    The numbers are those that our own code computes; each example is also a test against the
    numbers that were found on paper.
    """
    from handformer.examples import EXAMPLES, LANGUAGES, find, work
    from handformer.examples.show import FORMATS

    told = LANGUAGES[language]
    if name is not None and not list_:
        print(FORMATS[format_](work(find(name), told)), end="")
        return 0
    titles = {name: told.tell(example).title for name, example in EXAMPLES.items()}
    if format_ is Format.JSON:
        import json

        print(json.dumps(titles, indent=2, ensure_ascii=False))
        return 0
    width = max(map(len, EXAMPLES))
    for each, title in titles.items():
        print(f"{each:<{width}}  {title}")
    print(f"\n{told.see}")
    return 0
