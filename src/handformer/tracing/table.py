"""The ledger as a table for a terminal: by value, by size, by price or by part; and its sums."""

from collections.abc import Callable, Iterator

from rich import box
from rich.table import Table
from rich.text import Text

from handformer.tracing.fold import Folded, fold, parts
from handformer.tracing.ledger import Ledger, Row
from handformer.tracing.seen import Kind

WIDE = 110  # columns, where the letters of the axes find room


def by_value(kept: Ledger, width: int, *, largest_first: bool = False) -> Table:
    """A row a value, in the order of the computation."""
    wide = width >= WIDE
    table = _table("", "shape", ">memory", "needed by", ">FLOPs", gap=1 if wide else 0)
    titles: dict[Kind, str] = {"value": "Values, forward", "gradient": "Gradients, backward"}
    for kind, title in titles.items():
        rows = fold(kept.of(kind))
        if largest_first:
            rows.sort(key=lambda row: -row.bytes)
        table.add_section()
        table.add_row(Text(title, style="bold"))
        for row in rows:
            table.add_row(
                Text(row.path), _shape(row.rows[0], wide), _memory(row.bytes), _needed_by(row),
                "-" if row.flops is None else _number(row.flops),
            )  # fmt: skip
    return table


def by_size(kept: Ledger, width: int) -> Table:
    """A row a value, the largest first."""
    return by_value(kept, width, largest_first=True)


def by_price(kept: Ledger, width: int) -> Table:
    """A row a value: those that no gradient needs, then those cheapest to compute again."""
    table = _table("Values, forward", ">memory", "needed by", ">FLOPs", ">a byte")
    rows = [row for row in fold(kept.of("value")) if row.flops is not None]
    rows.sort(key=lambda row: (1, row.price) if row.needed_by else (0, -row.bytes))
    for row in rows:
        table.add_row(
            Text(row.path), _memory(row.bytes), _needed_by(row), _number(row.flops or 0),
            f"{row.price:,.2f}" if row.price < 9.995 else f"{row.price:,.0f}",
        )  # fmt: skip
    return table


def by_part(kept: Ledger, width: int) -> Table:
    """A row a part of the model."""
    table = _table("", ">weights", ">values", ">gradients", ">FLOPs\nforward")
    kinds: tuple[Kind, ...] = ("weight", "value", "gradient")
    for part in parts((*kept.of("value"), *kept.of("weight", "gradient"))):
        memory = (sum(row.bytes for row in part.rows if row.kind == kind) for kind in kinds)
        flops = sum(row.flops or 0 for row in part.rows if row.kind == "value")
        table.add_row(Text(part.path or "the model"), *map(_memory, memory), _number(flops))
    return table


def _table(*heads: str, gap: int = 1) -> Table:
    """A table with these heads; columns of numbers, marked by >, are flush right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0))
    for head in heads:
        table.add_column(
            head.lstrip(">"), justify="right" if head.startswith(">") else "left",
            no_wrap=head != "needed by", overflow="fold",
        )  # fmt: skip
    return table


VIEWS: dict[str, Callable[[Ledger, int], Table]] = {
    "value": by_value, "size": by_size, "price": by_price, "part": by_part,
}  # fmt: skip


def sums(kept: Ledger, optimizer: str) -> Iterator[str]:
    """What all of it takes together, in lines."""
    idle = sum(row.bytes for row in kept.of("value") if not row.needed_by)
    amounts = {
        "weights": kept.bytes("weight"),
        "their gradients": kept.bytes("weight_gradient"),
        f"the moments of {optimizer}": kept.moment_bytes,
        "inputs": kept.bytes("input"),
        "values": kept.bytes("value"),
        "gradients of values": kept.bytes("gradient"),
        "weights' gradients of other shares": kept.share_bytes,
        "in all": kept.total,
    }
    if kept.shares == 1:
        del amounts["weights' gradients of other shares"]
    width = max(map(len, amounts))
    for name, amount in amounts.items():
        note = f"   {_memory(idle)} of it no gradient needs" if name == "values" else ""
        yield f"{name:<{width}}  {_memory(amount):>8}{note}"
    forward, backward = kept.flops("value"), kept.flops("gradient", "weight_gradient")
    yield f"\n{_number(forward)} FLOPs forward, {_number(backward)} backward"


def _needed_by(row: Folded) -> Text:
    return Text(", ".join(row.needed_by) or "-")


def _shape(row: Row, wide: bool) -> str:
    sizes = " ".join(map(str, row.shape))
    return f"{' '.join(row.axes)} = {sizes}" if row.axes and wide else sizes


def _memory(amount: int) -> str:
    return f"{_scaled(amount)}B"


def _number(amount: int) -> str:
    return _scaled(amount).rstrip()


def _scaled(amount: float) -> str:
    """Three digits and a prefix: 393216 is `393 k`."""
    *smaller, largest = ("", "k", "M", "G", "T", "P")
    for prefix in smaller:
        if amount < 999.5:
            digits = 0 if not prefix or amount >= 99.95 else 1 if amount >= 9.995 else 2
            return f"{amount:.{digits}f} {prefix}"
        amount /= 1000
    return f"{amount:,.0f} {largest}"
