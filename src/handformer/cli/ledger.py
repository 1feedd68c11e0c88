"""`handformer ledger`: what a training step will keep, before any run."""

import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handformer.cli import FINE

if TYPE_CHECKING:
    from handformer.models import ModelConfig
    from handformer.tracing.ledger import Ledger
    from handformer.tracing.seen import Kind
    from handformer.train.config import RunConfig

PRESET = "first"


class By(StrEnum):
    """How the rows are arranged."""

    VALUE = "value"
    SIZE = "size"
    PRICE = "price"
    PART = "part"


def command(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG",
            help="A preset's name, as in `train --preset`; a TOML file; or a run's folder.",
        ),
    ] = PRESET,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The text, as in `train`: it tells the vocabulary, where model.vocab_size isn't "
            "set. [default: Python's own documentation]",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="One setting, as in train.batch=32; may be repeated."
        ),
    ] = None,
    by: Annotated[
        By,
        typer.Option(
            help="A row a value, in the order of the computation; by size, the largest first; by "
            "price, those first that are cheapest to compute again; or a row a part of the model."
        ),
    ] = By.VALUE,
    json_: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> int:
    """Show what a training step will keep, before any run: nothing is computed.

    Of every value and gradient: its shape, its memory, which backward formulas need it (a dash says
    that it is only there to be looked at), and how many operations compute it again. The blocks'
    values stand in one row, with the memory and the operations of all of them.

    The sum is what a step keeps; its peak lies above that by what one operation needs at work.
    """
    from handformer.tracing.ledger import ledger
    from handformer.train.loop import optimizer

    settings = _settings(config, data, set_ or [])
    model, vocabulary = _with_vocabulary(settings)
    moments = len(optimizer(settings.train).init({}).moments)
    train = settings.train
    kept = ledger(model, batch=train.batch, dtype=train.dtype, moments=moments, shares=train.shares)
    if json_:
        import json

        print(json.dumps(_document(kept, vocabulary), indent=2))
        return FINE
    from rich.console import Console

    from handformer.tracing.table import VIEWS, sums

    console = Console()
    print(_title(kept, vocabulary))
    console.print(VIEWS[by](kept, console.width))
    for line in sums(kept, train.optimizer):
        print(line)
    return FINE


def _settings(name: str, data: str | None, options: list[str]) -> "RunConfig":
    """The settings that `train` would take."""
    from handformer.train import config, presets
    from handformer.train.run_folder import RunFolder

    path, changes = Path(name), config.read_options(options)
    if name in presets.PRESETS or not (path.exists() or path.suffix or len(path.parts) > 1):
        below = presets.preset(name)  # or it says which there are
    elif path.is_dir():
        below = RunFolder(path).read_config().model_dump(exclude_none=True)
    else:
        below = config.merge(presets.preset(PRESET), config.read_toml(path))
    given = {"data": {"path": data}} if data is not None else {}
    return config.RunConfig.read(config.merge(below, given, changes))


def _with_vocabulary(settings: "RunConfig") -> "tuple[ModelConfig, str]":
    """The model's config with the size of its vocabulary, and where that comes from."""
    from rich.console import Console

    from handformer.train import tasks

    model = settings.model
    if "vocab_size" in model.model_fields_set:
        return model, "as the config says"
    if model.family == "transformer" and settings.data.path is None:
        return model, "assumed: give the pairs with --data, or set model.vocab_size"
    console = Console(stderr=True)
    quiet = not sys.stderr.isatty() or console.is_dumb_terminal
    with nullcontext() if quiet else console.status("reading the text"):
        text = tasks.read(settings.data)
        return tasks.prepare(settings, text).model_config(model), f"those of {text.name}"


def _title(kept: "Ledger", vocabulary: str) -> str:
    config = kept.config
    return (
        f"{config.family} (n_layers {config.n_layers}, n_heads {config.n_heads}, d_model "
        f"{config.d_model}): {kept.parameters:,} weights\n"
        f"vocabulary: {config.vocab_size:,} entries, {vocabulary}\n"
        f"a step on {kept.batch} x {kept.length} tokens, in {kept.dtype}"
    )


def _document(kept: "Ledger", vocabulary: str) -> dict[str, Any]:
    """The ledger for a program: every value has a row of its own."""
    from dataclasses import asdict

    kinds: tuple[Kind, ...] = ("weight", "weight_gradient", "input", "value", "gradient")
    return {
        "model": kept.config.model_dump(),
        "vocabulary": vocabulary,
        "batch": kept.batch,
        "length": kept.length,
        "dtype": kept.dtype,
        "bytes": {
            **{kind: kept.bytes(kind) for kind in kinds},
            "moments": kept.moment_bytes,
            "other_shares": kept.share_bytes,
            "total": kept.total,
        },
        "flops": {
            "forward": kept.flops("value"),
            "backward": kept.flops("gradient", "weight_gradient"),
        },
        "rows": [asdict(row) for row in kept.rows],
    }
