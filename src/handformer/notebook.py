"""Arrays and records as notebooks show them: tables in which colours tell the numbers.

Every text is escaped, and everything has a limit: of a large array the first and last rows and
columns are shown. Colours lie over the page's own, so that they fit a light and a dark one: orange
above zero, blue below, the stronger the farther; what is hidden is hatched.
"""

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 16  # rows and columns of a table
THUMB = 32  # pixels of a small picture
ARRAYS = 240  # of a record with all its parts
ABOVE, BELOW, ODD = (222, 120, 20), (40, 110, 210), (163, 21, 154)
STRONGEST = 0.72  # how much of the page's colour is covered at most: texts stay readable
TABLE = "border-collapse:collapse;margin:4px 0;font-size:12px"
SMALL = "font-size:12px;line-height:1.35"
CELL = "padding:1px 7px;text-align:left;vertical-align:top"
NUMBER = "padding:1px 5px;text-align:right;font-variant-numeric:tabular-nums"
HEAD = f"{CELL};font-weight:normal;opacity:.65"
HATCH = (
    "background:repeating-linear-gradient(135deg,rgba(128,128,128,.35) 0 1px,transparent 1px 5px)"
)
MORE = "…"

AnyArray = NDArray[Any]


def record(shown: Any) -> str:
    """A record: the name, axes and dtype of each array with a small picture, its parts below it."""
    left = [ARRAYS]
    name = escape(type(shown).__name__)
    return f'<div style="{SMALL}"><b>{name}</b>{_table(shown, left)}</div>'


def _table(shown: Any, left: list[int]) -> str:
    rows = (_row(field.name, getattr(shown, field.name), left) for field in fields(shown))
    return f'<table style="{TABLE}"><tbody>{"".join(rows)}</tbody></table>'


def _row(name: str, part: Any, left: list[int]) -> str:
    """One line of a record: an array, other records (in a box that opens), or a setting."""
    if isinstance(part, np.ndarray):
        left[0] -= 1
        picture = thumbnail(part) if left[0] >= 0 else ""
        cells = [code(name), _shape(part.shape), escape(str(part.dtype)), picture]
        return row(cells)
    parts = part if isinstance(part, tuple) else (part,)
    if parts and all(is_dataclass(one) and not isinstance(one, type) for one in parts):
        names = [name] if part is parts[0] else [f"{name}.{at}" for at in range(len(parts))]
        boxes = (_box(*pair, left) for pair in zip(names, parts, strict=True))
        return row([code(name), "".join(boxes)], wide=3)
    said = repr(part)
    return row([code(name), escape(said if len(said) <= 80 else f"{said[:80]}{MORE}")], wide=3)


def _box(name: str, part: Any, left: list[int]) -> str:
    title = f"{escape(name)} <small>{escape(type(part).__name__)}</small>"
    if left[0] <= 0:
        return f"<div>{title} {MORE}</div>"
    return f"<details><summary>{title}</summary>{_table(part, left)}</details>"


def row(cells: Sequence[str], *, wide: int = 1, head: bool = False) -> str:
    """A row of a table, of cells that are HTML; the last is as wide as so many."""
    tag, style = ("th", HEAD) if head else ("td", CELL)
    span = f' colspan="{wide}"' if wide > 1 else ""
    last = len(cells) - 1
    made = (
        f'<{tag} style="{style}"{span if at == last else ""}>{cell}</{tag}>'
        for at, cell in enumerate(cells)
    )
    return f"<tr>{''.join(made)}</tr>"


def code(text: str) -> str:
    """A name as a name looks."""
    return f"<code>{escape(text)}</code>"


def _shape(shape: Iterable[int]) -> str:
    return " × ".join(map(str, shape)) or "a number"


def grid(
    numbers: AnyArray,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    hidden: AnyArray | None = None,
    limit: float | None = None,
    corner: str = "",
) -> str:
    """Numbers (rows, columns) as a table, each on its colour, whole in the title.

    Parameters
    ----------
    rows, columns
        what stands beside and above them: their places unless given
    hidden
        true where a number is hidden
    limit
        the magnitude with the strongest colour: the largest that is seen unless given
    corner
        what stands where the sides meet: the names of both
    """
    unseen = np.zeros(numbers.shape, bool) if hidden is None else hidden
    limit = largest(numbers, unseen) if limit is None else limit
    down, across = (_shown(size) for size in numbers.shape)

    def cell(at: int | None, place: int | None) -> str:
        if at is None or place is None:
            return f'<td style="{NUMBER};opacity:.5">{MORE}</td>'
        return _number(numbers[at, place], bool(unseen[at, place]), limit)

    def name(names: Sequence[str] | None, at: int | None) -> str:
        text = MORE if at is None else str(at) if names is None else names[at]
        return f'<th style="{NUMBER};font-weight:normal;opacity:.65">{escape(text)}</th>'

    head = "".join(name(columns, place) for place in across)
    side = f'<th style="{HEAD}">{escape(corner)}</th>'
    body = (
        f"<tr>{name(rows, at)}{''.join(cell(at, place) for place in across)}</tr>" for at in down
    )
    return (
        f'<table style="{TABLE}"><thead><tr>{side}{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def _shown(size: int) -> list[int | None]:
    """The places that are shown of so many, with None where others are left out."""
    if size <= SIDE:
        return [*range(size)]
    return [*range(SIDE * 2 // 3), None, *range(size - SIDE // 3 + 1, size)]


def _number(number: Any, hidden: bool, limit: float) -> str:
    whole = str(number)
    if hidden:
        return f'<td style="{NUMBER};{HATCH}" title="{whole} (hidden)"></td>'
    short = f"{number:.4g}" if isinstance(number, np.floating) else whole
    red, green, blue, alpha = _colours(np.array([float(number)]), limit)[0]
    paint = f"background:rgba({red},{green},{blue},{alpha / 255:.3f})"
    return f'<td style="{NUMBER};{paint}" title="{whole}">{short}</td>'


def largest(numbers: AnyArray, hidden: AnyArray) -> float:
    """The largest magnitude of what is finite and seen; 1 if there is none."""
    wide = np.abs(numbers.astype(np.float64))
    good = wide[np.isfinite(wide) & ~hidden]
    return float(good.max(initial=0.0)) or 1.0


def thumbnail(array: AnyArray) -> str:
    """A small picture of an array's last two axes, at the first place of all others."""
    if array.size == 0 or array.dtype.kind not in "fiub":
        return ""
    plane = np.atleast_2d(array[(0,) * max(0, array.ndim - 2)]).astype(np.float64)
    strides = [-(-size // THUMB) for size in plane.shape]
    for axis, stride in enumerate(strides):
        starts = np.arange(0, plane.shape[axis], stride)
        high, low = (f.reduceat(plane, starts, axis=axis) for f in (np.maximum, np.minimum))
        plane = np.where(high >= -low, high, low)
    pixels = _colours(plane, largest(plane, np.zeros(plane.shape, bool)))
    rows, columns = plane.shape
    size = max(1, min(8, THUMB // rows, THUMB // columns))
    data = base64.b64encode(_png(pixels)).decode("ascii")
    style = f"width:{columns * size}px;height:{max(rows * size, 6)}px;image-rendering:pixelated"
    frame = "border:1px solid rgba(128,128,128,.4);margin:0;max-width:none"
    return f'<img alt="" style="{style};{frame}" src="data:image/png;base64,{data}">'


def _colours(numbers: NDArray[np.float64], limit: float) -> NDArray[np.uint8]:
    """Red, green, blue and how much they cover, of each number."""
    part = np.clip(np.abs(np.nan_to_num(numbers / limit, nan=1.0)), 0, 1)
    cover = np.where(np.isnan(numbers), 1, part) * STRONGEST
    colours = np.where((numbers < 0)[..., None], BELOW, ABOVE)
    colours = np.where(np.isnan(numbers)[..., None], ODD, colours)
    return np.concatenate([colours, np.rint(255 * cover)[..., None]], axis=-1).astype(np.uint8)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels (rows, columns, 4) as a PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows, columns, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # 0: a line as it is
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)  # 8 bits each, with cover
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
