"""A trace, and one value of it, as a notebook shows them."""

from dataclasses import dataclass
from html import escape
from itertools import islice

from handformer import notebook
from handformer.notebook import code, row
from handformer.tracing import planes
from handformer.tracing.manifest import Value
from handformer.tracing.trace import Trace
from handformer.train.norms import part

PLANES = 8  # of a value
ROWS = 800  # of a table of contents
KINDS = {"weight_gradient": "weight's gradient"}


@dataclass(frozen=True)
class Shown:
    """One value of a trace, to be looked at: what `trace.show(path)` gives.

    In a notebook it is a heat map with the tokens' texts; printed, it is the numbers.
    """

    trace: Trace
    path: str

    def __post_init__(self) -> None:
        planes.entry(self.trace, self.path)  # complains where there is no such value

    def __repr__(self) -> str:
        """The path, the axes, and the numbers as NumPy writes them."""
        value = planes.entry(self.trace, self.path)
        return f"{value.path} ({_axes(value)}, {value.dtype})\n{self.trace[value.path]}"

    def _repr_html_(self) -> str:
        value = planes.entry(self.trace, self.path)
        array, hidden = self.trace[value.path], planes.hidden_places(self.trace, value)
        limit = notebook.largest(array, hidden)
        title = f"{code(value.path)} <small>{escape(_axes(value))}, {escape(value.dtype)}</small>"
        made = list(islice(planes.planes(self.trace, value.path), PLANES + 1))
        tables = "".join(_plane(plane, limit) for plane in made[:PLANES])
        more = "<div>and more: pick places with trace[path]</div>" if len(made) > PLANES else ""
        head = f"<div>{title}</div>{_formula(self.trace, value)}"
        return f'<div style="{notebook.SMALL}">{head}{tables}{more}</div>'


def _plane(plane: planes.Plane, limit: float) -> str:
    sides = [[axis.label(at) for at in range(size)] for axis, size in zip(
        (plane.rows, plane.columns), plane.numbers.shape, strict=True)]  # fmt: skip
    letters = " \\ ".join(filter(None, (plane.rows.letter, plane.columns.letter)))
    table = notebook.grid(
        plane.numbers, rows=sides[0], columns=sides[1], hidden=plane.hidden, limit=limit,
        corner=letters,
    )  # fmt: skip
    place = f"<div><small>{escape(plane.place)}</small></div>" if plane.place else ""
    return f'<div style="display:inline-block;margin-right:18px">{place}{table}</div>'


def _formula(trace: Trace, value: Value) -> str:
    if value.scope is None:
        return ""
    name = value.path.removeprefix(f"{value.scope}.")
    found = next((one for one in trace.sheet(value.scope) if one.name == name), None)
    return "" if found is None else f"<div>{code(str(found))}</div>"


def contents(trace: Trace) -> str:
    """What is in a trace: its parts, each a box that opens, with its values in order."""
    said = trace.manifest
    groups: dict[str, list[Value]] = {}
    for value in said.values:
        if value.kept:
            groups.setdefault(part(value.path), []).append(value)
    size = sum(value.nbytes for values in groups.values() for value in values)
    facts = f"{escape(said.model)}, {escape(said.dtype)}, {len(trace):,} values, {size:,} bytes"
    loss = f", loss {trace.loss:.4f}" if "loss.loss" in trace else ""
    left, boxes = ROWS, []
    for name, values in groups.items():
        boxes.append(_group(name, values[:left], len(values)))
        left = max(0, left - len(values))
    title = f"Trace of <b>{escape(said.name)}</b> <small>({facts}{loss})</small>"
    return f'<div style="{notebook.SMALL}">{title}{"".join(boxes)}</div>'


def _group(part: str, values: list[Value], count: int) -> str:
    many = f"{count:,} values" if count > 1 else "1 value"
    title = f"<summary>{code(part)} <small>{many}</small></summary>"
    head = row(["path", "kind", "axes", "dtype"], head=True)
    lines = "".join(
        row([code(v.path), KINDS.get(v.kind, v.kind), escape(_axes(v)), escape(v.dtype)])
        for v in values
    )
    more = "" if len(values) == count else row(["… trace.keys() names them all"], wide=4)
    return f'<details>{title}<table style="{notebook.TABLE}">{head}{lines}{more}</table></details>'


def _axes(value: Value) -> str:
    sides = zip(value.axes, value.shape, strict=True)
    return ", ".join(f"{letter} {size}" for letter, size in sides) or "a number"
