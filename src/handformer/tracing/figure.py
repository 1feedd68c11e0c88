"""A value of a trace as a picture in a file: attention a head, with the texts of the tokens on its
sides and what the mask hides hatched; any value as a map whose colours have zero in the middle.
"""

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from handformer.errors import InputError
from handformer.tracing import lettering
from handformer.tracing.manifest import Value
from handformer.tracing.planes import Axis, Plane, entry, first_attention, planes
from handformer.tracing.trace import Trace
from handformer.train import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

INK, SOFT, HATCH, NAN = "#1f2933", "#66727f", "#b4b4ae", "#a3159a"
# Blue and orange stay apart for every kind of colour blindness; their lightness tells how far.
BOTH = ("#0b3a73", "#3f83c4", "#a9cbea", "#fbfbf9", "#fbc890", "#d9731a", "#7a2e00")
ABOVE = ("#fbfbf9", "#a8d8cf", "#2b8f8c", "#063b4f")
MOST = 64  # planes in a picture
FEW = 8  # places on a side: so many can be written out
LARGE = 1024  # places on a side; of more, each spot shows the largest of several
TICKS = 40  # texts along a side at most


def figure(trace: Trace, path: str | os.PathLike[str], *, pattern: str | None = None) -> None:
    """Draw a value; equal traces give equal bytes, and the file is written whole or not at all.

    Parameters
    ----------
    path
        where to: a name that ends in .svg, .png or .pdf
    pattern
        the path of the value, or a pattern that fits one; the first attention unless given. Of a
        batch the first row is drawn

    Raises
    ------
    InputError
        for another ending, a value that isn't there, or one with too many planes
    """
    where = Path(path)
    picture.kind(where)
    value = _value(trace, pattern)
    shown = list(planes(trace, value.path))
    if not shown or 0 in shown[0].numbers.shape:
        raise InputError(f"{value.path}: has no entries: there is nothing to draw")
    if len(shown) > MOST:
        raise InputError(
            f"{value.path}: {len(shown)} planes of {value.shape[-2]} x {value.shape[-1]}, expected "
            f"at most {MOST}: draw a value with fewer axes, or look at it with `handformer inspect`"
        )
    # Imported here: it takes longer than everything else that a command imports.
    from matplotlib import rc_context  # noqa: PLC0415

    with rc_context(_settings()):
        drawn = _drawn(trace, value, shown)
        try:
            picture.write(drawn, where)
        except OSError as error:
            raise InputError(f"{where}: can't write: {error.strerror or error}") from None


def _value(trace: Trace, pattern: str | None) -> Value:
    if pattern is None:
        return entry(trace, first_attention(trace))
    found = trace.keys(pattern) if any(sign in pattern for sign in "*?[") else []
    if len(found) > 1:
        raise InputError(
            f"{pattern}: fits {len(found)} values, among them {found[0]} and {found[1]}: name one"
        )
    return entry(trace, found[0] if found else pattern)


def _settings() -> dict[Any, Any]:
    return {
        "svg.hashsalt": "handformer",  # ids inside the file follow from this, not from chance
        "svg.fonttype": "path",  # the same look everywhere, whatever fonts a viewer has
        "font.family": lettering.families(),
        "font.size": 9.0,
        "text.parse_math": False,  # a token may hold a dollar
        "text.color": INK,
        "axes.labelcolor": SOFT,
        "axes.edgecolor": "#d8d8d2",
        "axes.titlesize": 9.0,
        "xtick.color": INK,
        "ytick.color": INK,
        "hatch.color": HATCH,
        "hatch.linewidth": 0.6,
        "savefig.dpi": 150,
    }


def _drawn(trace: Trace, value: Value, shown: Sequence[Plane]) -> "Figure":
    from matplotlib import cm, colors, figure  # noqa: PLC0415

    seen = [_seen(plane) for plane in shown]
    least, most = min(s.min() for s in seen), max(s.max() for s in seen)
    signed = least < 0
    limit = max(-least, most) or 1.0
    norm = colors.Normalize(-limit if signed else 0.0, limit)
    ramp = colors.LinearSegmentedColormap.from_list("handformer", BOTH if signed else ABOVE)
    shades = ramp.with_extremes(bad=NAN)
    down, across = _grid(len(shown))
    wide, tall = _size(shown[0])
    page = figure.Figure(figsize=(across * wide + 1.1, down * tall + 0.8), layout="constrained")
    spots = page.subplots(down, across, squeeze=False).ravel()
    for spot in spots[len(shown) :]:
        spot.set_axis_off()
    for number, (spot, plane) in enumerate(zip(spots, shown, strict=False)):
        outer = (number % across == 0, number + across >= len(shown))
        _draw(spot, plane, shades, norm, outer)
    bar = page.colorbar(
        cm.ScalarMappable(norm, shades), ax=list(spots), fraction=0.04, pad=0.02, aspect=30
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, colors=SOFT)
    page.suptitle(_title(trace, value), fontsize=10.5, color=INK)
    return page


def _aspect(plane: Plane) -> Literal["equal", "auto"]:
    """Squares where both sides are positions."""
    return "equal" if {plane.rows.letter, plane.columns.letter} <= set("tsru") else "auto"


def _seen(plane: Plane) -> NDArray[np.float64]:
    """The numbers that set the scale of the colours: those that are finite and not hidden."""
    numbers = plane.numbers.astype(np.float64)
    good = numbers[np.isfinite(numbers) & ~plane.hidden]
    return good if good.size else np.zeros(1)


def _draw(
    spot: "Axes", plane: Plane, shades: "Colormap", norm: Any, outer: tuple[bool, bool]
) -> None:
    from matplotlib.collections import PolyCollection  # noqa: PLC0415

    numbers = np.where(plane.hidden, 0, plane.numbers.astype(np.float64))
    rows, columns = numbers.shape
    strides = [max(1, -(-size // LARGE)) for size in (rows, columns)]
    spot.imshow(
        np.ma.masked_invalid(_largest(numbers, strides)), cmap=shades, norm=norm,
        aspect=_aspect(plane), interpolation="nearest",
        extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
    )  # fmt: skip
    if plane.hidden.any():
        boxes = PolyCollection(list(_runs(plane.hidden)), facecolor="#f1f1ee", hatch="/////")
        boxes.set(edgecolor=HATCH, linewidth=0.0)
        spot.add_collection(boxes)
    if max(rows, columns) <= FEW:
        _write(spot, plane, shades, norm)
    if plane.place:
        spot.set_title(plane.place, color=SOFT)
    spot.tick_params(length=0, pad=3)
    _label(spot, "x", plane.columns, columns, outer[1], strides[1])
    _label(spot, "y", plane.rows, rows, outer[0], strides[0])


def _write(spot: "Axes", plane: Plane, shades: "Colormap", norm: Any) -> None:
    """The numbers themselves, black or white, whichever is read more easily there."""
    for (row, column), number in np.ndenumerate(plane.numbers):
        if not plane.hidden[row, column]:
            red, green, blue, _ = shades(norm(float(number)))
            ink = INK if 0.3 * red + 0.6 * green + 0.1 * blue > 0.55 else "white"
            said = f"{number:.4g}" if plane.numbers.dtype.kind == "f" else str(int(number))
            spot.text(column, row, said, ha="center", va="center", color=ink, fontsize=7.5)


def _largest(numbers: NDArray[np.float64], strides: Sequence[int]) -> NDArray[np.float64]:
    """Of each box of so many rows and columns, the entry of the largest magnitude."""
    if max(strides) == 1:
        return numbers
    for axis, stride in enumerate(strides):
        starts = np.arange(0, numbers.shape[axis], stride)
        high = np.maximum.reduceat(numbers, starts, axis=axis)
        low = np.minimum.reduceat(numbers, starts, axis=axis)
        numbers = np.where(high >= -low, high, low)
    return numbers


def _runs(hidden: NDArray[np.bool_]) -> Iterable[list[tuple[float, float]]]:
    """Each row's hidden places as rectangles, of places side by side one."""
    for row, places in enumerate(hidden):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], places.astype(np.int8), [0]])))
        for left, right in zip(edges[::2] - 0.5, edges[1::2] - 0.5, strict=True):
            top, bottom = row - 0.5, row + 0.5
            yield [(left, top), (right, top), (right, bottom), (left, bottom)]


def _label(spot: "Axes", which: str, axis: Axis, size: int, outer: bool, stride: int) -> None:
    """Texts or numbers along a side, as many as there is room for; the side's name outside only."""
    across = which == "x"
    side = spot.xaxis if across else spot.yaxis
    places = range(0, size, _every(size, TICKS if axis.texts is not None else 10))
    texts = [lettering.fit(axis.label(place)) for place in places]
    side.set_ticks(list(places), labels=texts)
    if across and axis.texts is not None and max(map(len, texts)) > 1:
        for text in spot.get_xticklabels():
            text.set(rotation=90)
    if outer and axis.letter:
        merged = f" (the largest of each {stride})" if stride > 1 else ""
        side.set_label_text(f"{axis.name}{merged}")


def _every(size: int, room: int) -> int:
    """Every how many places something is written, where there is room for so many."""
    steps = (part * int(10**power) for power in range(19) for part in (1, 2, 5))
    return next(step for step in steps if step * room >= size)


def _grid(count: int) -> tuple[int, int]:
    """Rows and columns of planes: a bit wider than high, with no hole where that can be."""
    least = math.isqrt(count - 1) + 1
    across = next((n for n in range(least, min(2 * least, 8) + 1) if count % n == 0), min(least, 8))
    return -(-count // across), across


def _size(plane: Plane) -> tuple[float, float]:
    """Inches of a plane: room for its texts, and never a line too thin to be seen."""
    rows, columns = plane.numbers.shape
    wide = min(7.0, max(2.4, 0.2 * columns + 1.2))
    return wide, min(6.0, max(0.9 if rows == 1 else 1.8, 0.2 * rows + 0.8))


def _title(trace: Trace, value: Value) -> str:
    sizes = [f"{letter} {size}" for letter, size in zip(value.axes, value.shape, strict=True)]
    shape = f"   ({', '.join(sizes)})" if sizes else ""
    return f"{lettering.fit(trace.manifest.name, 60)}   {lettering.fit(value.path, 90)}{shape}"
