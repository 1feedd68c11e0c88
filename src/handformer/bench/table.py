"""A contest's records as a table."""

from rich import box
from rich.table import Table
from rich.text import Text

from handformer.bench.contests import STEP, TRACE, WRITE
from handformer.bench.race import Result
from handformer.bench.report import Record, records

_MOST = 120  # characters of an error
_TASKS = {
    STEP: "training step",
    TRACE: "trace: every value and every gradient",
    WRITE: "writing",
}
_TIMES = {STEP: "step", TRACE: "trace", WRITE: "tokens/s"}
_LIMITS = {STEP: "share of\nproducts", TRACE: "share of\nproducts", WRITE: "share of\nreading"}


def table(result: Result) -> Table:
    """One line a contestant."""
    contest = result.contest
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    found.add_column("", width=32)
    for head in (_TIMES[contest.task], "times\nfast", _LIMITS[contest.task], "peak\nmemory"):
        found.add_column(head, justify="right", no_wrap=True)
    for record in records(result):
        name = f"{record['contestant']} {_short(record['version'])}".rstrip()
        if record["seconds"] is None:
            found.add_row(_missing(name, record))
            continue
        found.add_row(
            Text(name),
            f"{record['tokens_per_second']:.1f}" if contest.tokens else _time(record["seconds"]),
            "-" if record["ratio"] is None else f"{record['ratio']:.2f}",
            f"{record['share']:.0%}",
            f"{record['peak_bytes'] / 1e6:,.0f} MB",
        )
    return found


def title(result: Result) -> Text:
    """What is done, the model's sizes, and the limit."""
    contest, config = result.contest, result.contest.shape.config
    sizes = (
        f"   {config.n_layers} layers, width {config.d_model}, {config.n_heads} heads, "
        f"context {config.context}, vocabulary {config.vocab_size}"
    )
    if contest.operations:
        limit = (
            f"batch {contest.shape.batch}; {contest.operations / 1e9:,.1f} GFLOP of matrix "
            f"products; limit {result.operations_per_second / 1e9:,.1f} GFLOP/s"
        )
    else:
        limit = f"{contest.tokens} tokens; limit: reading {result.bytes_per_second / 1e9:,.1f} GB/s"
    head = f"{contest.shape.name}  {_TASKS[contest.task]}"
    return Text.assemble((head, "bold"), f", {contest.shape.title}\n{sizes},\n   {limit}")


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def _missing(name: str, record: Record) -> Text:
    if record["absent"]:
        return Text(f"{name}: {record['absent']}", "dim")
    return Text(f"{name} failed: {record['failed'][:_MOST]}", "red")


def _short(version: str | None) -> str:
    return (version or "").partition("+")[0]
