"""`handformer train`: learn from a text, and leave a run folder."""

from pathlib import Path
from typing import Annotated

import typer

from handformer.errors import InputError


def command(
    data: Annotated[
        str | None,
        typer.Option(
            help="A text file, a folder, a glob, - for standard input, or a TSV of pairs."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The run's folder.")] = Path("runs/first"),
    preset: Annotated[
        str, typer.Option(help="Settings by name: first, shakespeare-char, llama, masked, pairs.")
    ] = "first",
    config: Annotated[Path | None, typer.Option(help="A TOML file with settings.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="One setting, as in train.lr=3e-4; may be repeated."),
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a run that is in the folder.")] = False,
) -> int:
    """Train a model on a text; with nothing else, on Python's own documentation.

    Settings come from the preset, then --config, then --set.
    """
    from handformer.train import config as settings
    from handformer.train import presets, run
    from handformer.train.loop import DivergedError

    changes = settings.read_options(set_ or [])
    file = settings.read_toml(config) if config else {}
    if resume is not None:
        if data is not None:
            raise InputError("--resume goes on with the run's own text; leave --data out")
        found = run.resume(resume, settings.merge(file, changes))
    else:
        given = {"data": {"path": data}} if data is not None else {}
        merged = settings.merge(presets.preset(preset), file, given, changes)
        found = run.begin(merged, out, overwrite=overwrite)
    trained, task = found.trained, found.task
    family, sizes = found.config.model.family, found.config.model
    print(task.summary)
    print(
        f"{family}: {sizes.n_layers} layers, {sizes.n_heads} heads, width {sizes.d_model}, context "
        f"{sizes.context}: {found.parameters:,} weights; seed {found.config.train.seed}"
    )
    if trained.step:
        print(f"going on from step {trained.step}")
    try:
        trained, finished = found.go()
    except DivergedError as error:
        typer.echo(f"handformer: {error}", err=True)
        return 1
    folder = found.folder
    if not finished:
        print(f"\nstopped after step {trained.step}; all is saved. To go on:\n")
        print(f"  handformer train --resume {folder.path}")
        return 0
    loss = found.validation_loss()
    print(f"\n{folder.sample.read_text(encoding='utf-8')}")
    print(f"validation loss {loss:.4f} after {trained.step} steps; all is in {folder.path}")
    print("\nThree commands to try next:\n")
    for line in run.next_commands(found):
        print(f"  {line}")
    return 0
