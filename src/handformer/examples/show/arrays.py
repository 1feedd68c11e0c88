"""Small arrays as text: columns with the decimal points under each other, several side by side."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handformer.formula.text import number

DIGITS = 4
GAP = "    "

Block = list[str]


def labelled(name: str, array: NDArray[Any], width: int) -> Block:
    """`name = [ 1  0 ]`; of more axes than two, matrix by matrix."""
    return beside(_matrices(name, array), width)


def _matrices(name: str, array: NDArray[Any]) -> Iterator[Block]:
    if array.ndim == 0:
        yield [f"{name} = {number(array.item(), DIGITS)}"]
        return
    rows = np.atleast_2d(array)
    for place in np.ndindex(rows.shape[:-2]):
        label = f"{name}[{','.join(map(str, place))}]" if place else name
        lines = _matrix(rows[place])
        yield [f"{label} = {lines[0]}", *(" " * len(label) + f"   {line}" for line in lines[1:])]


def _matrix(rows: NDArray[Any]) -> Block:
    """A line a row, in brackets."""
    columns = [_aligned([number(entry.item(), DIGITS) for entry in column]) for column in rows.T]
    return [f"[ {'  '.join(entries)} ]" for entries in zip(*columns, strict=True)]


def beside(blocks: Iterable[Block], width: int) -> list[str]:
    """Blocks next to each other as far as they fit, the rest below after an empty line."""
    lines: list[str] = []
    row: Block = []
    for block in blocks:
        joined = _joined(row, block) if row else block
        if row and max(map(len, joined)) > width:
            lines += [*row, ""]
            joined = block
        row = joined
    return [line.rstrip() for line in (*lines, *row)]


def _joined(left: Block, right: Block) -> Block:
    height, wide = max(len(left), len(right)), max(map(len, left))
    left, right = ([*block, *[""] * (height - len(block))] for block in (left, right))
    return [f"{one:<{wide}}{GAP}{other}" for one, other in zip(left, right, strict=True)]


def _aligned(entries: list[str]) -> list[str]:
    split = [entry.partition(".") for entry in entries]
    before = max(len(whole) for whole, _, _ in split)
    after = max(len(point + rest) for _, point, rest in split)
    return [f"{whole:>{before}}{point + rest:<{after}}" for whole, point, rest in split]
