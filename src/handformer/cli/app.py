"""The commands by name. Each imports what it needs when it runs, so that help is quick."""

from typing import Annotated

import typer

from handformer import __version__
from handformer.cli import (
    bench,
    check,
    example,
    explain,
    generate,
    inspect,
    ledger,
    one_line,
    selfcheck,
    trace,
    train,
)

app = typer.Typer(
    name="handformer",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("train", short_help="Train a model on a text.")(one_line(train.command))
app.command("generate", short_help="Let a model write.")(one_line(generate.command))
app.command("trace", short_help="Keep every number of a pass.")(one_line(trace.command))
app.command("inspect", short_help="Look at every number.")(one_line(inspect.command))
app.command(
    "explain",
    short_help="Unfold one number.",
    context_settings={"ignore_unknown_options": True},  # -1 is a wrong index, not an option
)(one_line(explain.command))
app.command("example", short_help="Work an example by hand.")(one_line(example.command))
app.command("check", short_help="Check your own code.")(one_line(check.command))
app.command("selfcheck", short_help="Check every number.")(one_line(selfcheck.command))
app.command("ledger", short_help="Count what a step keeps.")(one_line(ledger.command))
app.command("bench", short_help="Measure the speed.")(one_line(bench.command))


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"handformer {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_tell_version, is_eager=True
        ),
    ] = False,
) -> None:
    """A Transformer written by hand: every number kept, named, derived and checked."""
    if context.invoked_subcommand is None:
        print(context.get_help())
