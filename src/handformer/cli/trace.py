"""`handformer trace`: every number of one pass in both directions, in one file."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handformer.cli import FINE, reading
from handformer.errors import InputError

if TYPE_CHECKING:
    from handformer.tracing.cut import Cut
    from handformer.tracing.trace import Trace

OUT = Path("trace.safetensors")
LARGE = 1 << 27  # bytes: from here on the size is told before the run


def command(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="A run's folder, or a model's.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What to read; may be repeated. For an encoder, [MASK] hides a token; for an "
            "encoder-decoder it is the source.",
        ),
    ] = None,
    tokens: Annotated[
        str | None, typer.Option(metavar="IDS", help="Token ids in a text's place, as in 5,3,8.")
    ] = None,
    batch: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A text a line, all of them side by side.")
    ] = None,
    example: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A worked example in a model's place: see `example --list`."
        ),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What should have come, one for each text (ids where --tokens are given). "
            "[default: for each token the next one]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"The trace's file. [default: {OUT}, unless a page or a picture is asked for]",
        ),
    ] = None,
    case: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="In a trace's place a case, which `check` holds another implementation against: "
            "everything, in float64, and the weights as they are.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page to look at it, which needs nothing.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A picture: .svg, .png or .pdf.")
    ] = None,
    figure_of: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="What the picture shows. [default: the first attention's weights]"
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Keep only these, as in 'blocks.3.attention.*'; may be repeated.",
        ),
    ] = None,
    positions: Annotated[
        str | None,
        typer.Option(metavar="PLACES", help="Keep only these positions, as in 0,3 or 4:8."),
    ] = None,
    weights: Annotated[
        bool, typer.Option("--weights/--no-weights", help="Keep the weights and their gradients.")
    ] = True,
    dtype: Annotated[
        str | None,
        typer.Option(metavar="TYPE", help="float32 or float64. [default: the model's own]"),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Compute with the plain operations, the book.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="For programs: what was written.")] = False,
) -> int:
    """Run a model forward, through the loss, and backward, and write every number into one file.

    The file is a .safetensors file that any program can read: each value under its path, and a
    manifest with axes and formulas. `explain` unfolds a number of it, `inspect` shows it as a page.
    """
    from handformer.tracing.cut import Cut

    if case is not None:
        _require_whole(out, only, positions, weights, dtype)
        out, dtype, plain = case, "float64", True
    _require_different(out, html, figure)
    places = None if positions is None else reading.positions(positions)
    cut = Cut(tuple(only or ()), places, weights)
    if example is not None:
        if model is not None or text or tokens or batch:
            raise InputError("an example brings its own numbers: give no model and no text")
        trace = _example(example, cut)
    elif model is None:
        raise InputError("no model: give a run's folder, or an example with --example identity")
    else:
        asked = reading.asked(text, tokens, batch, targets)
        trace = _model(model, asked, cut, dtype, plain, case is not None)
    written = _write(trace, out, html, figure, figure_of)
    if json_:
        import json

        print(json.dumps(_told(trace, written), indent=2))
    else:
        _tell(trace, written)
        if case is not None:
            print(f"handformer check THEIRS --against {case}")
    return FINE


def _require_whole(
    out: Path | None,
    only: list[str] | None,
    positions: str | None,
    weights: bool,
    dtype: str | None,
) -> None:
    """Refuse what a case can't do with."""
    if out is not None:
        raise InputError("a case is the trace's file: give --case or --out")
    if only or positions is not None or not weights:
        raise InputError("a case holds everything: leave out --only, --positions, --no-weights")
    if dtype not in (None, "float64"):
        raise InputError(f"--dtype {dtype}: a case is computed in float64; leave it out")


def _require_different(out: Path | None, html: Path | None, figure: Path | None) -> None:
    """Refuse before the run what can't be written after it."""
    from handformer.train import aside, picture

    if figure is not None:
        picture.kind(figure)
    wanted = [path for path in (out, html, figure) if path is not None]
    for path in wanted:
        try:
            aside.target(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: can't write: {getattr(error, 'strerror', error)}") from None
    if len({path.resolve() for path in wanted}) < len(wanted):
        raise InputError("the trace, its page and its picture need a file each")


def _model(
    folder: Path,
    asked: dict[str, Any],
    cut: "Cut",
    dtype: str | None,
    plain: bool,
    case: bool,
) -> "Trace":
    import handformer as hand
    from handformer import tree
    from handformer.tracing.api import require_dtype
    from handformer.tracing.case import as_given

    require_dtype(dtype)
    writer = hand.load(folder)
    ops = hand.ops if plain else hand.fast
    _forecast(writer, asked, cut, dtype)
    with _working("running forward and backward"):
        trace = hand.trace(
            writer, **asked, name=folder.resolve().name, dtype=dtype, only=cut.only,
            positions=cut.positions, weights=cut.weights, ops=ops,
        )  # fmt: skip
    return as_given(trace, tree.flatten(writer.model)) if case else trace


def _forecast(writer: Any, asked: dict[str, Any], cut: "Cut", dtype: str | None) -> None:
    """Say how large a large trace will be, before it is made; refuse one that can't fit."""
    import shutil

    from handformer import tree
    from handformer.tracing.cut import forecast

    rows = asked.get("tokens") or [writer.tokenizer.encode(text) for text in asked["text"]]
    own = next(iter(tree.flatten(writer.model).values())).dtype
    config = writer.model.config
    if not rows or not 0 < max(map(len, rows)) <= config.context:
        return  # the run itself says what is wrong
    size = forecast(config, rows, dtype or own, cut)
    free = shutil.disk_usage(".").free
    if size > free:
        raise InputError(
            f"the trace would take {size:,} bytes, and {free:,} are free here; keep less of it "
            "with --only, --positions or --no-weights"
        )
    if size > LARGE:
        print(f"about {size / 1e6:,.0f} MB", file=sys.stderr)


def _example(name: str, cut: "Cut") -> "Trace":
    from handformer.examples import find
    from handformer.examples.traced import traced
    from handformer.tracing.cut import Cut

    if cut != Cut():
        raise InputError("an example is small: it is written whole, without --only and the like")
    return traced(find(name))


def _write(
    trace: "Trace", out: Path | None, html: Path | None, figure: Path | None, of: str | None
) -> list[Path]:
    if of is not None and figure is None:
        raise InputError("--figure-of says what a picture shows: name its file with --figure")
    written: list[Path] = []
    if figure is not None:
        from handformer.tracing import figure as pictures

        pictures.figure(trace, figure, pattern=of)
        written.append(figure)
    if html is not None:
        from handformer.inspector.export import page
        from handformer.train import aside

        with _working("making the page"):
            made = page(trace, title=trace.manifest.name)
        try:
            aside.write(html, made)
        except OSError as error:
            raise InputError(f"{html}: can't write: {error.strerror or error}") from None
        written.append(html)
    if out is not None or not written:
        with _working("writing"):
            trace.save(out or OUT)
        written.append(out or OUT)
    return written


def _working(what: str) -> Any:
    from rich.console import Console

    console = Console(stderr=True)
    quiet = not sys.stderr.isatty() or console.is_dumb_terminal
    return nullcontext() if quiet else console.status(what)


def _tell(trace: "Trace", written: list[Path]) -> None:
    print(repr(trace))
    if "loss.loss" in trace:
        print(f"loss {trace.loss:.4f}")
    for path in written:
        print(f"{path}  {path.stat().st_size:,} bytes")
    if written[-1].suffix == ".safetensors":
        scores = next((v for v in trace.manifest.values if v.path.endswith("scores")), None)
        if scores is not None and scores.kept:
            place = " ".join("0" for _ in scores.shape)
            print(f"\nhandformer explain {written[-1]} {scores.path} {place}")
        print(f"handformer inspect {written[-1]}")


def _told(trace: "Trace", written: list[Path]) -> dict[str, Any]:
    kept = [value.model_dump() for value in trace.manifest.values if value.kept]
    return {
        "written": [str(path) for path in written],
        "model": trace.manifest.name,
        "loss": trace.loss if "loss.loss" in trace else None,
        "values": kept,
    }
