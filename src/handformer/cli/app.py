"""The commands by name. Each imports what it needs when it runs, so that help is quick."""

import typer

from handformer.cli import example, generate, selfcheck, train

app = typer.Typer(
    name="handformer",
    help="A Transformer written by hand: every number kept, named, derived and checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("train")(train.command)
app.command("generate")(generate.command)
app.command("example")(example.command)
app.command("selfcheck")(selfcheck.command)
