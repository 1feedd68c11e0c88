"""`handformer selfcheck`: prove on this machine that the numbers are right."""

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from handformer.selfcheck.ops import Finding
    from handformer.selfcheck.parts import Part, Row

TITLES = {
    "example": "Worked examples, against paper",
    "op": "Ops, against their formulas",
    "layer": "Layers, against their formulas",
    "model": "Models, against their formulas",
    "invariant": "What holds whatever the weights are",
}
_MOST = 5  # failing values that are named, a part


def command(
    json_: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> int:
    """Check every op, layer and model on this machine: takes about half a minute.

    Code is held against the formulas, backward formulas against finite differences, and all of it
    against what must hold whatever the weights are. Exit code 1 if anything fails.
    """
    import time

    from handformer.selfcheck.parts import parts

    began = time.monotonic()
    rows = list(_checked([*_examples(), *parts()]))
    seconds = time.monotonic() - began
    if json_:
        import json

        print(json.dumps(_document(rows, seconds), indent=2, allow_nan=False))
    else:
        from rich.console import Console

        Console().print(_table(rows))
        for line in _failures(rows):
            print(line)
        print(_summary(rows, seconds))
    return 0 if all(row.fine for row in rows) else 1


def _examples() -> "list[Part]":
    """A part for each worked example: the check stands below them, and can't know them."""
    from handformer.examples import EXAMPLES, Example, verify
    from handformer.selfcheck.parts import VALUES, Part

    def part(example: Example) -> Part:
        return Part("example", example.name, VALUES, lambda: (verify(example), ()))

    return [part(example) for example in EXAMPLES.values()]


def _checked(parts: "Sequence[Part]") -> "Iterator[Row]":
    """Each part's row; meanwhile a terminal shows which part is being checked."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    # Not console.is_terminal: the environment can force that, and a bar in a file is noise.
    hidden = not sys.stderr.isatty() or console.is_dumb_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("", total=len(parts))
        for part in parts:
            progress.update(task, description=f"{part.section} {part.name}")
            yield part.row()
            progress.advance(task)


def _table(rows: "Sequence[Row]") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    table.add_column("", min_width=40)
    for head in ("values\ncompared", "greatest\ndifference", "gradient\ncheck"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for section, title in TITLES.items():
        table.add_section()
        table.add_row(Text(title, style="bold"))
        for row in rows:
            if row.section == section:
                table.add_row(
                    Text(f"  {row.name}"), f"{len(row.values):,}", _worst(row.values),
                    _worst(row.gradients),
                    Text("right", "green") if row.fine else Text("WRONG", "bold red"),
                )  # fmt: skip
    return table


def _worst(findings: "Sequence[Finding]") -> str:
    if not findings:
        return "-"
    greatest = _greatest(findings)
    return f"{greatest:.1e}" if greatest else "0"


def _greatest(findings: "Sequence[Finding]") -> float:
    """The greatest difference; infinite where one isn't a number."""
    different = [f.difference for f in findings]
    return max((float("inf") if math.isnan(d) else d for d in different), default=0.0)


def _failures(rows: "Sequence[Row]") -> Iterator[str]:
    """What is wrong, a line a value, the first ones of each part."""
    for row in rows:
        part = f"{row.section} {row.name}"
        if row.raised:
            yield f"{part}: raised {row.raised}"
        elif not row.values:
            yield f"{part}: nothing was compared"
        for found in row.failures[:_MOST]:
            yield f"{part}: {found.value} is off by {found.difference:.1e}"
        if len(row.failures) > _MOST:
            yield f"{part}: and {len(row.failures) - _MOST} more"


def _summary(rows: "Sequence[Row]", seconds: float) -> str:
    values = [f for row in rows for f in row.values]
    slopes = [f for row in rows for f in row.gradients]
    wrong = sum(not row.fine for row in rows)
    verdict = f"{wrong} of {len(rows)} are WRONG" if wrong else f"All {len(rows)} are right"
    return (
        f"{verdict}: {len(values):,} values to {_worst(values)}, "
        f"{len(slopes):,} gradients to {_worst(slopes)}, in {seconds:.0f} s."
    )


def _document(rows: "Sequence[Row]", seconds: float) -> dict[str, Any]:
    """The rows for a program; null is a difference that isn't finite."""

    def plain(difference: float) -> float | None:
        return difference if abs(difference) < float("inf") else None

    return {
        "right": all(row.fine for row in rows),
        "seconds": round(seconds, 3),
        "rows": [
            {
                "section": row.section,
                "name": row.name,
                "values": len(row.values),
                "difference": plain(_greatest(row.values)),
                "limit": row.limit,
                "gradients": len(row.gradients),
                "gradient_difference": plain(_greatest(row.gradients)),
                "right": row.fine,
                "raised": row.raised or None,
                "failures": [
                    {"value": found.value, "difference": plain(found.difference)}
                    for found in row.failures
                ],
            }
            for row in rows
        ],
    }
