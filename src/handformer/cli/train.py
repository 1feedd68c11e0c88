"""`handformer train`: learn from a text, and leave a run folder."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handformer.cli import FINE, NO, STOPPED, complain
from handformer.errors import InputError

if TYPE_CHECKING:
    from handformer.train.run import Run

OUT, PRESET = Path("runs/first"), "first"


def command(
    data: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="A file, a folder, a glob, or - for standard input; a TSV for the preset pairs. "
            "[default: Python's own documentation]",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help=f"The run's folder. [default: {OUT}]")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Settings by name: first, shakespeare-char, llama, masked or pairs. "
            f"[default: {PRESET}]",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A TOML file with settings.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="One setting, as in train.lr=3e-4; may be repeated."
        ),
    ] = None,
    show_config: Annotated[
        bool,
        typer.Option("--show-config", help="Print every setting, its meaning and value, and exit."),
    ] = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Go on with the run in this folder; --set may change train.*, "
            "except for train.dtype and train.optimizer.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run that is in the folder.")
    ] = False,
) -> int:
    """Train a model on a text; with nothing else, on Python's own documentation.

    Settings come from the preset, then --config, then --data, then --set.

    Ctrl-C saves after the update at work and says how to go on. Exit code: 0 the last step is
    reached; 1 a number was not finite; 2 something given is wrong; 130 Ctrl-C, 143 SIGTERM.
    """
    from handformer.train import config as settings
    from handformer.train import presets, run
    from handformer.train.loop import DivergedError
    from handformer.train.run_folder import RunFolder

    file = settings.read_toml(config) if config else {}
    options = settings.read_options(set_ or [])
    if resume is not None:
        _leave_out(data=data, out=out, preset=preset, overwrite=overwrite or None)
        below = RunFolder(resume).read_config().model_dump(exclude_none=True) if show_config else {}
        changes = settings.merge(below, file, options)
    else:
        given = {"data": {"path": data}} if data is not None else {}
        changes = settings.merge(presets.preset(preset or PRESET), file, given, options)
        if preset == "shakespeare-char" and "path" not in changes["data"]:
            raise InputError("the preset shakespeare-char needs the plays: give them with --data")
    if show_config:
        print(settings.RunConfig.read(changes).toml(), end="")
        return FINE
    begun = (
        run.begin(changes, out or OUT, overwrite=overwrite)
        if resume is None
        else run.resume(resume, changes)
    )
    _introduce(begun)
    try:
        ended, stopped = begun.go()
    except DivergedError as error:
        return complain(str(error), NO)
    _conclude(ended, stopped)
    return FINE if stopped is None else STOPPED + stopped


def _leave_out(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"--resume goes on with the run as it was begun; leave --{name} out")


def _introduce(begun: "Run") -> None:
    model, step = begun.config.model, begun.trained.step
    print(begun.task.summary)
    print(
        f"{model.family}: {_count(model.n_layers, 'layer')}, {_count(model.n_heads, 'head')}, "
        f"width {model.d_model}, context {model.context}: {begun.parameters:,} weights; "
        f"seed {begun.config.train.seed}"
    )
    if step:
        print(f"going on from step {step}")
    sys.stdout.flush()


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def _conclude(ended: "Run", stopped: int | None) -> None:
    from handformer.train import run

    path, step = ended.folder.path, ended.trained.step
    if stopped is not None:
        print(f"\nstopped after step {step}; all is saved. To go on:\n")
        print(f"  handformer train --resume {shlex.quote(str(path))}")
        return
    loss = ended.validation_loss()
    print("a sample of what it writes, from a text that it never saw:")
    reached = f"validation loss {loss:.4f} after " if loss is not None else ""
    print(f"\n{ended.folder.sample.read_text(encoding='utf-8')}")
    print(f"{reached}{step} steps; in {path}:")
    print("config.toml, model/, checkpoints/, log.jsonl, loss.svg, sample.txt")
    print("\nThree commands to try next:\n")
    for line in run.next_commands(ended):
        print(f"  {line}")
